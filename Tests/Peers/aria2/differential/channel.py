"""HTTP requests and WebSocket connections of the differential test, with nothing hidden.

Used by play.py. A connection that the server closes is a value, not an exception.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import socket
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

TIMEOUT = 20.0
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
ACCEPT_SUFFIX = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


@dataclass
class Reply:
    """An HTTP response, or the way in which the connection ended without one."""

    status: int | str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def is_answer(self) -> bool:
        """Whether the server answered at all."""
        return isinstance(self.status, int)


def send(url: str, method: str, path: str, headers: dict[str, str], body: bytes | None) -> Reply:
    """Sends one request on a new connection to the host of `url`."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return Reply(response.status, dict(response.getheaders()), response.read())
    except ConnectionRefusedError:
        return Reply("refused")
    except TimeoutError:
        return Reply("no answer in time")
    except (OSError, http.client.HTTPException):
        return Reply("closed")
    finally:
        connection.close()


def send_json(url: str, path: str, value: Any) -> Reply:
    """Posts a JSON value."""
    return send(url, "POST", path, {"Content-Type": "application/json"}, json.dumps(value).encode())


class WebSocket:
    """A WebSocket client that shows each message in the order in which it arrives."""

    def __init__(self, url: str, path: str) -> None:
        address = urlsplit(url)
        self.socket = socket.create_connection((address.hostname, address.port), TIMEOUT)
        self.buffer = b""
        key = base64.b64encode(os.urandom(16))
        request = (
            f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key.decode()}\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        self.socket.sendall(request.encode())
        self.status, self.headers = self._read_head()
        expected = base64.b64encode(hashlib.sha1(key + ACCEPT_SUFFIX).digest()).decode()
        self.accepted = self.headers.get("sec-websocket-accept") == expected

    def _read_head(self) -> tuple[str, dict[str, str]]:
        """Reads the status line and the headers of the handshake."""
        while b"\r\n\r\n" not in self.buffer:
            part = self.socket.recv(65536)
            if not part:
                return "closed", {}
            self.buffer += part
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        return first.partition(" ")[2], {name.lower(): value.strip() for name, _, value in pairs}

    def send(self, text: str, opcode: int = TEXT) -> None:
        """Sends one masked frame."""
        payload = text.encode()
        size = len(payload)
        if size < 126:
            head = bytes([0x80 | opcode, 0x80 | size])
        elif size < 65536:
            head = bytes([0x80 | opcode, 0xFE]) + size.to_bytes(2, "big")
        else:
            head = bytes([0x80 | opcode, 0xFF]) + size.to_bytes(8, "big")
        mask = os.urandom(4)
        self.socket.sendall(head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload)))

    def _take(self, count: int, deadline: float) -> bytes:
        """Reads exactly `count` bytes; raises TimeoutError or EOFError."""
        while len(self.buffer) < count:
            self.socket.settimeout(max(0.001, deadline - time.monotonic()))
            part = self.socket.recv(65536)
            if not part:
                raise EOFError
            self.buffer += part
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def receive(self, deadline: float) -> Any:
        """Returns the next message as a value: JSON, {"pong": …}, {"closed": True} or {"nothing": True}."""
        try:
            first, second = self._take(2, deadline)
            size = second & 0x7F
            if size >= 126:
                size = int.from_bytes(self._take(2 if size == 126 else 8, deadline), "big")
            payload = self._take(size, deadline)
        except TimeoutError:
            return {"nothing": True}
        except (EOFError, OSError):
            return {"closed": True}
        return self._message(first, payload)

    @staticmethod
    def _message(first: int, payload: bytes) -> Any:
        """Returns the value of a frame."""
        opcode = first & 0x0F
        if opcode == PONG:
            return {"pong": payload.decode()}
        if opcode == CLOSE:
            return {"close": int.from_bytes(payload[:2], "big") if payload else None}
        if first != 0x80 | TEXT:
            return {"frame": hex(first)}
        try:
            return json.loads(payload)
        except ValueError:
            return {"text": payload.decode("latin-1")}

    def close(self) -> None:
        """Closes the connection."""
        self.socket.close()
