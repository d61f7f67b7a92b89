#!/usr/bin/env python3
"""Helpers that the client tests in this folder share: checks, polling, a plain JSON-RPC caller, and processes.

This file is a library. It is not called as a program.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

POLL_SECONDS = 0.05
# A busy machine needs more time: PATIENCE multiplies each deadline.
WAIT_SECONDS = 20.0 * float(os.environ.get("PATIENCE", "1"))


class TimedOut(Exception):
    """The error of a condition that did not hold before its deadline."""


def shorten(value: object) -> str:
    """Returns a value as text of one short line."""
    text = repr(value).replace("\n", "\\n")
    return text if len(text) <= 300 else text[:297] + "..."


class Checks:
    """The named checks of one program. Each prints a line. `finish` returns the exit code."""

    def __init__(self, minimum: int) -> None:
        self.minimum = minimum
        self.passed = 0
        self.failed = 0
        self.names: set[str] = set()

    def record(self, name: str, holds: bool, expected: object, got: object) -> bool:
        """Counts a check and prints its line."""
        if name in self.names:
            holds, expected, got = False, "a name that is used once", name
        self.names.add(name)
        if holds:
            self.passed += 1
            print(f"ok {name}", flush=True)
        else:
            self.failed += 1
            print(f"FAILED {name}: expected {shorten(expected)} got {shorten(got)}", flush=True)
        return holds

    def equal(self, name: str, expected: object, got: object) -> bool:
        """Checks that two values are equal and of one type."""
        return self.record(name, type(expected) is type(got) and expected == got, expected, got)

    def holds(self, name: str, condition: object, got: object = None, expected: str = "the claim to hold") -> bool:
        """Checks that a condition is true."""
        return self.record(name, bool(condition), expected, got)

    def among(self, name: str, expected: list[Any] | set[Any], got: object) -> bool:
        """Checks that a value is one of a list."""
        return self.record(name, got in expected, f"one of {expected!r}", got)

    def contains(self, name: str, part: object, whole: Any) -> bool:
        """Checks that a list, a string or a dictionary contains a part."""
        return self.record(name, part in whole, f"something with {part!r}", whole)

    def becomes(self, name: str, expected: object, read: Callable[[], object], seconds: float = WAIT_SECONDS) -> bool:
        """Checks that a value that is read again and again becomes the expected one before a deadline."""
        got: list[object] = [None]

        def arrived() -> bool:
            got[0] = read()
            return got[0] == expected

        with contextlib.suppress(TimedOut):
            wait_for(name, arrived, seconds)
        return self.equal(name, expected, got[0])

    def raises(self, name: str, kind: type[BaseException], call: Callable[[], object]) -> BaseException | None:
        """Checks that a call raises an error of a kind, and returns the error."""
        try:
            result = call()
        except kind as error:
            self.record(name, True, kind.__name__, error)
            return error
        self.record(name, False, kind.__name__, result)
        return None

    @contextlib.contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Runs a group of checks. An error that escapes from it is a failed check."""
        try:
            yield
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)
            own = [frame for frame in where if ".venv" not in frame.filename and "site-packages" not in frame.filename]
            line = (own or where)[-1].lineno
            self.record(
                f"section {name} ends without an error",
                False,
                "no error",
                f"line {line}: {type(error).__name__}: {error}",
            )

    def finish(self) -> int:
        """Prints the number of checks and returns the exit code of the program."""
        total = self.passed + self.failed
        if total < self.minimum:
            self.record("the program runs all its checks", False, f"at least {self.minimum} checks", total)
        print(f"{self.passed + self.failed} checks", flush=True)
        print(f"checks: {self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed else 0


def wait_for(what: str, condition: Callable[[], Any], seconds: float = WAIT_SECONDS) -> Any:
    """Polls a condition until it is true and returns its value. Raises `TimedOut` at the deadline."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimedOut(f"{what}: not within {seconds} s")
        time.sleep(POLL_SECONDS)


class RpcError(Exception):
    """An error that the server answered."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Rpc:
    """A plain JSON-RPC caller from the standard library. Tests use it to prepare and to look, not as their subject."""

    def __init__(self, url: str, secret: str) -> None:
        self.url = url
        self.secret = secret

    def post(self, payload: object, seconds: float = 10.0) -> Any:
        """Sends a payload and returns the decoded answer, of whatever HTTP status."""
        body = json.dumps(payload).encode()
        request = urllib.request.Request(self.url, data=body, headers={"Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=seconds) as response:
                return json.loads(response.read())
        except urllib.error.HTTPError as error:
            return json.loads(error.read())

    def call(self, method: str, *params: Any, seconds: float = 10.0) -> Any:
        """Calls a method with the secret and returns its result. Raises `RpcError` for an error."""
        token = [] if method.startswith("system.") else [f"token:{self.secret}"]
        answer = self.post({"jsonrpc": "2.0", "id": "1", "method": method, "params": token + list(params)}, seconds)
        if "error" in answer:
            raise RpcError(answer["error"]["code"], answer["error"]["message"])
        return answer["result"]

    def status(self, gid: str) -> str | None:
        """Returns the status of a download, or None if the server does not know it."""
        try:
            return self.call("aria2.tellStatus", gid, ["status"])["status"]
        except RpcError:
            return None

    def wait(self, gid: str, *statuses: str | None, seconds: float = WAIT_SECONDS) -> str | None:
        """Waits until a download has one of these statuses and returns it. None means that it is gone."""
        last: list[str | None] = [None]

        def arrived() -> bool:
            last[0] = self.status(gid)
            return last[0] in statuses

        try:
            wait_for(f"{gid} to be {statuses}", arrived, seconds)
        except TimedOut as error:
            raise TimedOut(f"{error}; it is {last[0]!r}") from None
        return last[0]

    def wait_for_bytes(self, gid: str, count: int = 1, seconds: float = WAIT_SECONDS) -> None:
        """Waits until a download has received some bytes."""
        wait_for(
            f"{gid} to receive {count} bytes",
            lambda: int(self.call("aria2.tellStatus", gid, ["completedLength"])["completedLength"]) >= count,
            seconds,
        )

    def clear(self) -> None:
        """Removes all downloads, so that a program begins and ends with an empty list."""

        def unfinished() -> list[dict[str, str]]:
            keys = ["gid", "status"]
            return self.call("aria2.tellActive", keys) + self.call("aria2.tellWaiting", 0, 100_000, keys)

        for download in unfinished():
            with contextlib.suppress(RpcError):
                self.call("aria2.forceRemove", download["gid"])
        wait_for("all downloads to stop", lambda: not unfinished())
        self.call("aria2.purgeDownloadResult")


def arguments(description: str | None, *more: tuple[str, dict[str, Any]]) -> argparse.Namespace:
    """Reads the command line that the programs of this folder have in common."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rpc", required=True, help="the URL of the server, such as http://127.0.0.1:6800/jsonrpc")
    parser.add_argument("--secret", required=True, help="the secret of the server")
    parser.add_argument("--dir", type=Path, help="a folder for downloads (default: a new temporary folder)")
    for name, settings in more:
        parser.add_argument(name, **settings)
    options = parser.parse_args()
    if options.dir is None:
        options.dir = Path(tempfile.mkdtemp(prefix="aria2-clients-"))
    options.dir = options.dir.absolute()
    options.dir.mkdir(parents=True, exist_ok=True)
    return options


def new_folder(parent: Path, name: str) -> Path:
    """Makes a new empty folder for the downloads of one run of a program."""
    parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=parent))


def websocket_url(url: str) -> str:
    """Returns the WebSocket URL of the same server."""
    parts = urlsplit(url)
    return parts._replace(scheme="wss" if parts.scheme == "https" else "ws").geturl()


def address(url: str) -> tuple[str, int]:
    """Returns the host and the port of a URL."""
    parts = urlsplit(url)
    return parts.hostname or "127.0.0.1", parts.port or 80


def free_port() -> int:
    """Returns a TCP port of 127.0.0.1 that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port: int) -> bool:
    """Tells if a server accepts connections on a port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def process(command: list[str], **settings: Any) -> Iterator[subprocess.Popen[Any]]:
    """Runs a process and ends it, by its own id, on every way out."""
    child = subprocess.Popen(command, **settings)
    try:
        yield child
    finally:
        end(child)


def end(child: subprocess.Popen[Any], seconds: float = 10.0) -> None:
    """Ends a process with SIGTERM, and with SIGKILL if it still runs after a while."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def tool(name: str) -> str:
    """Returns the path of a command that this Python's environment installed, or the bare name."""
    path = Path(sys.executable).parent / name
    return str(path) if os.access(path, os.X_OK) else name
