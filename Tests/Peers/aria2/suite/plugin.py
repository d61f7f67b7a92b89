"""A pytest plugin for aria2p's own suite. It keeps the tests that start a server, without those of SUITE_LEFT_OUT.

The suite ends every process named `aria2c` that listens on the port it chose. With this plugin it sees its own only.
The suite starts most servers without a secret, which the bridge always needs. Its clients then use SECRET, as the
program `bin/aria2c` does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aria2p
import psutil
import pytest

SECRET = "sesame"


def own_processes() -> Iterator[psutil.Process]:
    """Yields the processes that this process started."""
    yield from psutil.Process().children(recursive=True)


def names_left_out() -> set[str]:
    """Returns the names in the file SUITE_LEFT_OUT. Without it the server is aria2, and all tests run."""
    path = os.environ.get("SUITE_LEFT_OUT")
    lines = Path(path).read_text().splitlines() if path else []
    return {line for line in lines if line and not line.startswith("#")}


def pytest_configure(config: Any) -> None:
    """Changes what the suite sees of this machine, and the secret of clients without one."""
    psutil.process_iter = own_processes  # type: ignore[assignment]
    if not names_left_out():
        return
    plain = aria2p.Client.__init__

    def with_secret(self: aria2p.Client, *args: Any, **more: Any) -> None:
        plain(self, *args, **more)
        self.secret = self.secret or SECRET

    aria2p.Client.__init__ = with_secret  # type: ignore[method-assign]


def pytest_collection_modifyitems(config: Any, items: list[pytest.Item]) -> None:
    """Keeps the tests that start a server and are not left out."""
    names = names_left_out()
    unknown = names - {item.nodeid for item in items}
    if unknown:
        raise pytest.UsageError(f"left_out.txt names tests that do not exist: {', '.join(sorted(unknown))}")
    kept = [item for item in items if "port" in getattr(item, "fixturenames", ()) and item.nodeid not in names]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
