#!/usr/bin/env python3
"""A local HTTP origin for tests of download clients.

Called as a program it listens on 127.0.0.1, prints its port in one line, and serves until SIGTERM or SIGINT:

    origin.py [--port PORT]

Called as a library, `Origin` serves from a thread of the test's own process:

    with Origin() as origin:
        url = origin.file("a.bin", 100_000)

Paths:
    /file/SIZE/NAME                   a file with ranges and an ETag
    /slow/RATE/SIZE/NAME              the same, at RATE bytes per second per connection
    /private/USER/PASSWORD/SIZE/NAME  the same, for requests with these Basic credentials
    /later/KEY/SIZE/NAME              404 until `release(KEY)` or POST /release/KEY, then a file
    /missing/NAME                     404
    /echo/NAME                        the headers of the request as JSON
    /redirect/PATH                    302 to /PATH
    /page/NAME                        an HTML page that `pages` holds
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import random
import signal
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

TICK_SECONDS = 0.05
BLOCK_BYTES = 64 * 1024


def content(name: str, size: int) -> bytes:
    """Returns the bytes of a file. They depend on its name and size only."""
    return random.Random(f"{name}/{size}").randbytes(size)


def parse_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Returns the first and last byte of a range, or None for the whole file. Raises ValueError for a bad one."""
    if not header or not header.startswith("bytes=") or "," in header:
        return None
    first, _, last = header[len("bytes=") :].partition("-")
    if not first:
        return max(0, size - int(last)), size - 1
    begin, end = int(first), min(int(last), size - 1) if last else size - 1
    if begin > end:
        raise ValueError(header)
    return begin, end


def paced(body: bytes, rate: int) -> Iterator[bytes]:
    """Yields blocks of a body, no faster than a rate in bytes per second. A rate of 0 has no limit."""
    if rate <= 0:
        for start in range(0, len(body), BLOCK_BYTES):
            yield body[start : start + BLOCK_BYTES]
        return
    began, sent = time.monotonic(), 0
    while sent < len(body):
        due = int((time.monotonic() - began + TICK_SECONDS) * rate)
        if due > sent:
            yield body[sent:due]
            sent = min(due, len(body))
        time.sleep(TICK_SECONDS)


class Handler(BaseHTTPRequestHandler):
    """One connection to the origin."""

    protocol_version = "HTTP/1.1"
    server: OriginServer

    def do_GET(self) -> None:
        """Serves the path of a request."""
        parts = [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]
        with self.server.lock:
            self.server.requests.append((self.command, self.path, dict(self.headers.items())))
        try:
            self.route(parts)
        except (IndexError, ValueError):
            self.answer(404, b"not found")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_HEAD = do_GET

    def do_POST(self) -> None:
        """Releases a file of /later."""
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        parts = self.path.strip("/").split("/")
        if parts[0] != "release" or len(parts) != 2:
            return self.answer(404, b"not found")
        self.server.released.add(unquote(parts[1]))
        self.answer(200, b"released")

    def route(self, parts: list[str]) -> None:
        """Answers a request whose path has these parts."""
        kind, rest = parts[0], parts[1:]
        if kind == "file":
            self.send_file(rest[1], int(rest[0]), 0)
        elif kind == "slow":
            self.send_file(rest[2], int(rest[1]), int(rest[0]))
        elif kind == "private":
            self.send_private(rest)
        elif kind == "later" and rest[0] in self.server.released:
            self.send_file(rest[2], int(rest[1]), 0)
        elif kind == "echo":
            headers = {name.lower(): self.headers.get_all(name) for name in self.headers.keys()}
            self.answer(200, json.dumps(headers, sort_keys=True).encode(), {"Content-Type": "application/json"})
        elif kind == "page" and rest[0] in self.server.pages:
            self.answer(200, self.server.pages[rest[0]].encode(), {"Content-Type": "text/html; charset=utf-8"})
        elif kind == "redirect":
            self.answer(302, b"", {"Location": "/" + "/".join(rest)})
        else:
            self.answer(404, b"not found")

    def send_private(self, rest: list[str]) -> None:
        """Sends a file if the request has the right Basic credentials."""
        expected = "Basic " + base64.b64encode(f"{rest[0]}:{rest[1]}".encode()).decode()
        if self.headers.get("Authorization") != expected:
            return self.answer(401, b"unauthorized", {"WWW-Authenticate": 'Basic realm="origin"'})
        self.send_file(rest[3], int(rest[2]), 0)

    def send_file(self, name: str, size: int, rate: int) -> None:
        """Sends a file, or the range of it that the request names."""
        body = content(name, size)
        etag = '"' + hashlib.sha256(body).hexdigest()[:16] + '"'
        headers = {
            "Content-Type": "application/octet-stream",
            "Accept-Ranges": "bytes",
            "ETag": etag,
            "Last-Modified": "Wed, 01 Jan 2025 00:00:00 GMT",
        }
        condition = self.headers.get("If-Range")
        wanted = self.headers.get("Range") if condition in (None, etag, headers["Last-Modified"]) else None
        try:
            chosen = parse_range(wanted, size)
        except ValueError:
            return self.answer(416, b"", {"Content-Range": f"bytes */{size}"})
        if chosen is None:
            return self.answer(200, body, headers, rate)
        headers["Content-Range"] = f"bytes {chosen[0]}-{chosen[1]}/{size}"
        self.answer(206, body[chosen[0] : chosen[1] + 1], headers, rate)

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None, rate: int = 0) -> None:
        """Sends a response."""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        for block in paced(body, rate):
            if self.server.ending.is_set():
                self.close_connection = True
                return
            self.wfile.write(block)
            self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Writes nothing: the tests print their own lines."""


class OriginServer(ThreadingHTTPServer):
    """The listening socket of the origin, and the state that its connections share."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.lock = threading.Lock()
        self.ending = threading.Event()
        self.released: set[str] = set()
        self.pages: dict[str, str] = {}
        self.requests: list[tuple[str, str, dict[str, str]]] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignores a client that closed its connection."""


class Origin:
    """An origin that serves from a thread of this process."""

    def __init__(self, port: int = 0) -> None:
        self.server = OriginServer(port)
        self.port: int = self.server.server_address[1]
        self.base = f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Origin:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.ending.set()
        self.server.shutdown()
        self.server.server_close()

    def file(self, name: str, size: int) -> str:
        """Returns the URL of a file."""
        return f"{self.base}/file/{size}/{name}"

    def slow(self, name: str, size: int, rate: int) -> str:
        """Returns the URL of a file that arrives at a rate in bytes per second."""
        return f"{self.base}/slow/{rate}/{size}/{name}"

    def private(self, name: str, size: int, user: str, password: str) -> str:
        """Returns the URL of a file that needs Basic credentials."""
        return f"{self.base}/private/{user}/{password}/{size}/{name}"

    def later(self, key: str, name: str, size: int) -> str:
        """Returns the URL of a file that is missing until `release`."""
        return f"{self.base}/later/{key}/{size}/{name}"

    def missing(self, name: str) -> str:
        """Returns the URL of a file that is missing."""
        return f"{self.base}/missing/{name}"

    def echo(self, name: str) -> str:
        """Returns the URL of a file with the headers of its own request."""
        return f"{self.base}/echo/{name}"

    def page(self, name: str, html: str) -> str:
        """Serves an HTML page and returns its URL."""
        self.server.pages[name] = html
        return f"{self.base}/page/{name}"

    def release(self, key: str) -> None:
        """Makes the files of a key of `later` available."""
        self.server.released.add(key)


def main() -> None:
    """Serves until a signal ends the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with Origin(options.port) as origin:
        print(origin.port, flush=True)
        ended.wait()


if __name__ == "__main__":
    main()
