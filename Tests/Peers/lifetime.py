"""Limits the lifetime of a test server."""

import os
import threading
import time


def bound(seconds: float) -> None:
    """Ends this process after `seconds`, or earlier when the process that started it has ended.

    The script that became this process has stored that process's ID, because the process may have ended already.
    """
    parent = int(os.environ["PEER_PARENT"])
    end = time.monotonic() + seconds

    def watch() -> None:
        while os.getppid() == parent and time.monotonic() < end:
            time.sleep(0.5)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
