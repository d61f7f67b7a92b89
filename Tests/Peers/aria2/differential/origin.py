#!/usr/bin/env python3
"""The local HTTP origin of the differential test.

Usage: origin.py [--port PORT] [--port-file FILE]

Listens on 127.0.0.1, prints its port on one line, and serves until SIGTERM or SIGINT.

Paths:
    /data/SIZE/NAME         SIZE bytes with ETag, Last-Modified and byte ranges
    /slow/RATE/SIZE/NAME    the same at RATE bytes per second per connection
    /whole/SIZE/NAME        SIZE bytes; ranges are ignored
    /dated/SIZE/NAME        SIZE bytes; 304 if If-Modified-Since is not before Last-Modified
    /named/SIZE/NAME        SIZE bytes with `Content-Disposition: attachment; filename="NAME"`
    /basic/SIZE/NAME        SIZE bytes for the user `user` with the password `pass`, else 401
    /redirect/COUNT/REST    COUNT redirects, then /REST
    /loop                   a redirect to itself
    /status/CODE            an empty answer with this status
    /echo?names=A,B         the named request headers as lines, in the order of the request

A request with an absolute URL, as a proxy gets it, is served by its path and has `X-Proxied: yes` in /echo.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import re
import signal
import sys
import threading
import time
from email.utils import formatdate, parsedate_to_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

LAST_MODIFIED = 1_600_000_000
PERIOD = 251
CHUNK = 65536
SLOW_TICK = 0.05
CREDENTIALS = base64.b64encode(b"user:pass").decode()
PATTERN = bytes(range(PERIOD)) * (CHUNK // PERIOD + 2)


def content(start: int, end: int) -> bytes:
    """Returns the bytes from `start` up to but not including `end` of every file; they repeat with a prime period."""
    if end - start <= CHUNK:
        offset = start % PERIOD
        return PATTERN[offset : offset + end - start]
    return b"".join(content(at, min(at + CHUNK, end)) for at in range(start, end, CHUNK))


def sha256(size: int) -> str:
    """Returns the SHA-256 of a file of `size` bytes in hex."""
    return hashlib.sha256(content(0, size)).hexdigest()


def sha1(size: int) -> str:
    """Returns the SHA-1 of a file of `size` bytes in hex."""
    return hashlib.sha1(content(0, size)).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """One connection to the origin."""

    protocol_version = "HTTP/1.1"
    server_version = "origin"
    sys_version = ""

    def log_message(self, format: str, *args: object) -> None:
        """Writes no log."""

    def do_GET(self) -> None:
        """Serves GET and HEAD."""
        url = urlsplit(self.path)
        self.proxied = bool(url.scheme)
        parts = [unquote(part) for part in url.path.split("/")[1:]]
        handler = getattr(self, f"serve_{parts[0]}", None)
        try:
            if handler is None:
                self.answer(404, b"not found\n")
            else:
                handler(parts[1:], parse_qs(url.query))
        except (IndexError, ValueError):
            self.answer(404, b"not found\n")
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True

    do_HEAD = do_GET

    def answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        """Sends a short response."""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and status != 304:
            self.wfile.write(body)

    def serve_data(self, parts: list[str], _: dict[str, list[str]]) -> None:
        """Serves a file with ranges."""
        self.send_file(int(parts[0]))

    def serve_slow(self, parts: list[str], _: dict[str, list[str]]) -> None:
        """Serves a file at a limited rate."""
        self.send_file(int(parts[1]), rate=int(parts[0]))

    def serve_whole(self, parts: list[str], _: dict[str, list[str]]) -> None:
        """Serves a file and ignores ranges."""
        self.send_file(int(parts[0]), ranges=False)

    def serve_named(self, parts: list[str], _: dict[str, list[str]]) -> None:
        """Serves a file with a name of its own."""
        self.send_file(int(parts[0]), extra={"Content-Disposition": f'attachment; filename="{parts[1]}"'})

    def serve_dated(self, parts: list[str], _: dict[str, list[str]]) -> None:
        """Serves a file unless the client has its current version."""
        since = self.headers.get("If-Modified-Since")
        if since and parsedate_to_datetime(since).timestamp() >= LAST_MODIFIED:
            self.answer(304, headers={"Last-Modified": formatdate(LAST_MODIFIED, usegmt=True)})
        else:
            self.send_file(int(parts[0]))

    def serve_basic(self, parts: list[str], _: dict[str, list[str]]) -> None:
        """Serves a file to the one user with the right password."""
        if self.headers.get("Authorization") == f"Basic {CREDENTIALS}":
            self.send_file(int(parts[0]))
        else:
            self.answer(401, b"unauthorized\n", {"WWW-Authenticate": 'Basic realm="origin"'})

    def serve_redirect(self, parts: list[str], _: dict[str, list[str]]) -> None:
        """Redirects as often as the path says."""
        count = int(parts[0])
        rest = "/".join(parts[1:])
        target = f"/redirect/{count - 1}/{rest}" if count > 1 else f"/{rest}"
        self.answer(302, b"", {"Location": target})

    def serve_loop(self, _: list[str], __: dict[str, list[str]]) -> None:
        """Redirects to the same path, always."""
        self.answer(302, b"", {"Location": "/loop"})

    def serve_status(self, parts: list[str], _: dict[str, list[str]]) -> None:
        """Answers with the status of the path."""
        self.answer(int(parts[0]), b"")

    def serve_echo(self, _: list[str], query: dict[str, list[str]]) -> None:
        """Answers with the request headers that the query names."""
        names = {name.lower() for name in query.get("names", [""])[0].split(",")}
        lines = [f"{name}: {value}" for name, value in self.headers.items() if name.lower() in names]
        if self.proxied:
            lines.append("X-Proxied: yes")
        self.answer(200, "".join(line + "\n" for line in lines).encode(), {"Content-Type": "text/plain"})

    def wanted_range(self, size: int) -> tuple[int, int] | None:
        """Returns the first and the end offset of the single range of the request, or None for the whole file."""
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if not match or match.groups() == ("", ""):
            return None
        if_range = self.headers.get("If-Range")
        if if_range not in (None, self.etag(size), formatdate(LAST_MODIFIED, usegmt=True)):
            return None
        first, last = match.groups()
        if not first:
            return max(0, size - int(last)), size
        return int(first), min(int(last) + 1 if last else size, size)

    @staticmethod
    def etag(size: int) -> str:
        """Returns the strong validator of a file of `size` bytes."""
        return f'"v1-{size}"'

    def send_file(
        self, size: int, rate: int | None = None, ranges: bool = True, extra: dict[str, str] | None = None
    ) -> None:
        """Sends a file or the wanted range of it."""
        wanted = self.wanted_range(size) if ranges else None
        start, end = wanted or (0, size)
        if start >= end and size > 0:
            self.answer(416, b"", {"Content-Range": f"bytes */{size}"})
            return
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(end - start))
        self.send_header("ETag", self.etag(size))
        self.send_header("Last-Modified", formatdate(LAST_MODIFIED, usegmt=True))
        if ranges:
            self.send_header("Accept-Ranges", "bytes")
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        for name, value in (extra or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.send_bytes(start, end, rate)

    def send_bytes(self, start: int, end: int, rate: int | None) -> None:
        """Sends content, at most `rate` bytes per second."""
        step = CHUNK if rate is None else max(1, int(rate * SLOW_TICK))
        for at in range(start, end, step):
            self.wfile.write(content(at, min(at + step, end)))
            if rate is not None:
                time.sleep(SLOW_TICK)


class Origin(ThreadingHTTPServer):
    """A server whose connections end with it."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignores clients that close their connection."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def main() -> None:
    """Serves until a signal arrives."""
    parser = argparse.ArgumentParser(description="The local HTTP origin of the differential test.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file", type=Path)
    arguments = parser.parse_args()
    server = Origin(("127.0.0.1", arguments.port), Handler)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    if arguments.port_file:
        arguments.port_file.write_text(f"{server.server_port}\n")
    print(server.server_port, flush=True)
    server.serve_forever(poll_interval=0.1)


if __name__ == "__main__":
    main()
