#!/usr/bin/env python3
"""Sends hostile requests to an aria2 RPC server and checks that it survives each of them.

    hostile.py --rpc http://127.0.0.1:6800/jsonrpc --secret SECRET [--pid PID] [--memory MIB] [--bridge] [--only PART]

After each attack a plain `aria2.getVersion` must answer within seconds. With --pid, the memory of that process may grow
by no more than --memory MiB while a WebSocket client does not read. With --bridge, checks run that aria2c need not
pass: foreign Host and Origin headers, ambiguous requests, and strict WebSocket frames.
Each check prints `ok NAME` or `FAILED NAME: expected … got …`. The exit code is 1 if a check failed.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import Checks, Rpc, RpcError, address, arguments, wait_for

MIB = 1024 * 1024
# A busy machine needs more time: PATIENCE multiplies each deadline.
PATIENCE = float(os.environ.get("PATIENCE", "1"))
ALIVE_SECONDS = 5.0 * PATIENCE
ANSWER_SECONDS = 15.0 * PATIENCE
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
SECRET_FILE = "/etc/passwd"
MARKER = "http://127.0.0.1:9/smuggled"


class Session:
    """The server under attack."""

    def __init__(self, options: Any, checks: Checks) -> None:
        self.host, self.port = address(options.rpc)
        self.secret: str = options.secret
        self.token = f"token:{options.secret}"
        self.pid: int | None = options.pid
        self.memory_bound: int = options.memory * MIB
        self.bridge: bool = options.bridge
        self.folder: Path = options.dir
        self.rpc = Rpc(options.rpc, options.secret)
        self.checks = checks

    def alive(self) -> bool:
        """Tells if a plain call is answered in time."""
        with contextlib.suppress(OSError, ValueError, RpcError):
            return "version" in self.rpc.call("aria2.getVersion", seconds=ALIVE_SECONDS)
        return False

    def connect(self, seconds: float = ANSWER_SECONDS) -> socket.socket:
        """Opens a TCP connection."""
        return socket.create_connection((self.host, self.port), timeout=seconds)

    def call_body(self, method: str, *params: Any, identifier: str = "h") -> bytes:
        """Returns the JSON of a call with the secret."""
        return json.dumps(
            {"jsonrpc": "2.0", "id": identifier, "method": method, "params": [self.token, *params]}
        ).encode()

    def post(self, body: bytes, *lines: str, path: str = "/jsonrpc", host: str | None = None) -> bytes:
        """Returns the bytes of a POST. Without `lines` it has the right Content-Length."""
        head = [f"POST {path} HTTP/1.1", f"Host: {host or f'{self.host}:{self.port}'}", "Connection: close"]
        head += lines or [f"Content-Length: {len(body)}"]
        return "\r\n".join(head).encode() + b"\r\n\r\n" + body

    def memory(self) -> int:
        """Returns the resident memory of the server in bytes, or 0 without --pid."""
        if self.pid is None:
            return 0
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text())
        return int(found.group(1)) * 1024 if found else 0


@dataclass
class Outcome:
    """The bytes that a server sent, and how the exchange ended: `closed`, `silent` at the deadline, or `answered`."""

    data: bytes
    end: str

    @property
    def status(self) -> int:
        """The status of the first response, or 0."""
        found = re.match(rb"HTTP/1\.[01] (\d{3})", self.data)
        return int(found.group(1)) if found else 0

    @property
    def responses(self) -> int:
        """The number of responses."""
        return len(re.findall(rb"HTTP/1\.[01] \d{3}", self.data))

    @property
    def handled(self) -> bool:
        """Tells if the server answered or closed the connection."""
        return self.end == "closed" or self.status > 0

    def __repr__(self) -> str:
        return f"{self.end} after {len(self.data)} bytes: {self.data[:120]!r}"


def complete_response(data: bytes) -> bool:
    """Tells if these bytes have at least one whole response with a Content-Length."""
    head, separator, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length:\s*(\d+)", head)
    return bool(separator and length and len(body) >= int(length.group(1)))


def exchange(session: Session, data: bytes, seconds: float = ANSWER_SECONDS, until_close: bool = False) -> Outcome:
    """Sends bytes on a new connection and reads the answer. It writes and reads at once, so neither side blocks."""
    received, sent, deadline = b"", 0, time.monotonic() + seconds
    with session.connect() as connection:
        connection.settimeout(0.02)
        while time.monotonic() < deadline:
            if sent < len(data):
                try:
                    sent += connection.send(data[sent : sent + MIB])
                except TimeoutError:
                    pass
                except OSError:
                    sent = len(data)
            try:
                block = connection.recv(65536)
            except TimeoutError:
                continue
            except OSError:
                return Outcome(received, "closed")
            if not block:
                return Outcome(received, "closed")
            received += block
            if not until_close and complete_response(received):
                return Outcome(received, "answered")
    return Outcome(received, "silent")


def body_of(outcome: Outcome) -> Any:
    """Returns the decoded JSON of a response, or None."""
    try:
        return json.loads(outcome.data.partition(b"\r\n\r\n")[2])
    except ValueError:
        return None


# Sizes and shapes of JSON.


def attack_large_params(session: Session) -> None:
    """Sends 1 MiB of parameters, which is less than the limit of 2 MiB."""
    outcome = exchange(session, session.post(session.call_body("aria2.tellStatus", "x" * MIB)))
    session.checks.holds("1 MiB of parameters is answered", isinstance(body_of(outcome), dict), outcome)


def attack_too_large(session: Session) -> None:
    """Sends more than the limit of 2 MiB."""
    for size in (2 * MIB + 1, 16 * MIB):
        outcome = exchange(session, session.post(session.call_body("aria2.tellStatus", "x" * size)))
        session.checks.holds(
            f"{size} bytes of parameters are refused", outcome.handled and outcome.status != 200, outcome
        )
    announced = exchange(session, session.post(b"{", "Content-Length: 999999999999"), 5)
    session.checks.holds("an announced terabyte is not awaited with memory", announced.status != 200, announced)


def attack_deep_json(session: Session) -> None:
    """Sends JSON that is nested 100,000 deep."""
    depth = 100_000
    shapes = {
        "arrays": b"[" * depth + b"]" * depth,
        "arrays that never close": b"[" * depth,
        "objects": b'{"a":' * depth + b"1" + b"}" * depth,
        "arrays in the parameters": b'{"id":"d","method":"aria2.getVersion","params":'
        + b"[" * depth
        + b"]" * depth
        + b"}",
    }
    for name, body in shapes.items():
        outcome = exchange(session, session.post(body))
        session.checks.holds(f"100,000 nested {name} are answered or closed", outcome.handled, outcome)
        session.checks.holds(f"100,000 nested {name} leave the server alive", session.alive())


def attack_many_members(session: Session) -> None:
    """Sends 10,000 calls in one multicall and in one batch."""
    gids = [f"{number:016x}" for number in range(1, 10_001)]
    calls = [{"methodName": "aria2.tellStatus", "params": [session.token, gid, ["status"]]} for gid in gids]
    answers = session.rpc.call("system.multicall", calls, seconds=60)
    session.checks.equal("a multicall of 10,000 GIDs has 10,000 answers", 10_000, len(answers))
    batch = [
        {"jsonrpc": "2.0", "id": n, "method": "aria2.tellStatus", "params": [session.token, gid]}
        for n, gid in enumerate(gids[:5_000])
    ]
    answered = session.rpc.post(batch, seconds=60)
    session.checks.equal("a batch of 5,000 calls is answered in order", list(range(5_000)), [a["id"] for a in answered])


def attack_many_uris(session: Session) -> None:
    """Adds a download with 10,000 URIs."""
    uris = [f"http://127.0.0.1:9/{number}" for number in range(10_000)]
    try:
        gid = session.rpc.call("aria2.addUri", uris, {"pause": "true", "dir": str(session.folder)}, seconds=60)
    except RpcError as error:
        session.checks.holds("10,000 URIs are refused with a message", error.message, error)
        return
    told = session.rpc.call("aria2.getUris", gid, seconds=60)
    # The bridge keeps the URIs that it uses: one, and 16 mirrors.
    kept = 17 if session.bridge else 10_000
    session.checks.equal("a download keeps its URIs", kept, len(told))
    session.rpc.call("aria2.forceRemove", gid)
    session.checks.holds(
        "a download of 10,000 URIs is removed", session.rpc.wait(gid, None, "removed") in (None, "removed")
    )


def attack_odd_json(session: Session) -> None:
    """Sends JSON that is no call, and bytes that are no JSON."""
    bodies = {
        "null": b"null",
        "a number": b"1e999999",
        "a string": b'"x"',
        "an empty body": b"",
        "an empty array": b"[]",
        "an array of numbers": b"[1,2,3]",
        "bytes that are not UTF-8": b'{"method":"\xff\xfe"}',
        "a lone surrogate": b'{"id":"\\ud800","method":"aria2.getVersion"}',
        "a NUL": b'{"id":"\\u0000","method":"x\\u0000"}',
        "a large number as parameter": b'{"id":1,"method":"aria2.tellWaiting","params":[9e99,-99999999999999999999]}',
        "a method that is a list": b'{"id":1,"method":["aria2.getVersion"],"params":{}}',
        "an id that is an object": b'{"id":{"a":[1]},"method":"system.listMethods"}',
    }
    for name, body in bodies.items():
        outcome = exchange(session, session.post(body), 8)
        session.checks.holds(f"{name} as a request is answered or closed", outcome.handled, outcome)


# Secrets.


def attack_wrong_secrets(session: Session) -> None:
    """Tries 100 wrong secrets."""

    def guess(number: int) -> str:
        stranger = Rpc(session.rpc.url, f"{session.secret[:-1]}{number:03d}")
        try:
            return str(stranger.call("aria2.getVersion", seconds=60))
        except RpcError as error:
            return error.message

    with ThreadPoolExecutor(20) as pool:
        answers = set(pool.map(guess, range(100)))
    session.checks.equal("100 wrong secrets are Unauthorized", {"Unauthorized"}, answers)
    session.checks.holds("the right secret works after 100 wrong ones", session.alive())
    shapes: list[list[Any]] = [
        [],
        [None],
        ["token:"],
        [session.secret],
        [f"token:{session.secret} "],
        [[session.token]],
        [f"TOKEN:{session.secret}"],
        [{"token": session.secret}],
    ]
    for shape in shapes:
        answer = session.rpc.post({"jsonrpc": "2.0", "id": "s", "method": "aria2.getVersion", "params": shape}, 30)
        shown = json.dumps(shape).replace(session.secret, "SECRET")
        session.checks.holds(f"the parameters {shown} are no secret", "result" not in answer, answer)


# HTTP.


def attack_silence(session: Session) -> None:
    """Opens 100 connections with a part of a request each, and then says nothing."""
    whole = session.post(session.call_body("aria2.getVersion"))
    parts = [b"", b"P", whole[:30], whole[:-5], whole[: whole.index(b"\r\n\r\n") + 2]]
    with contextlib.ExitStack() as stack:
        for number in range(100):
            connection = stack.enter_context(session.connect())
            connection.sendall(parts[number % len(parts)])
        session.checks.holds("100 silent connections do not block a call", session.alive())
    session.checks.holds("100 connections that break off leave the server alive", session.alive())


def attack_pipeline(session: Session) -> None:
    """Sends two requests in one write."""
    bodies = [session.call_body("aria2.getVersion", identifier=name) for name in ("first", "second")]
    keep = session.post(bodies[0]).replace(b"Connection: close\r\n", b"")
    outcome = exchange(session, keep + session.post(bodies[1]), 8, until_close=True)
    found = re.findall(rb'"id":"(first|second)"', outcome.data)
    session.checks.among(
        "pipelined requests are answered in order, or the first only", [[b"first", b"second"], [b"first"]], found
    )
    flood = keep * 200
    outcome = exchange(session, flood, 8, until_close=True)
    session.checks.holds("200 pipelined requests are answered or closed", outcome.handled, outcome)


def hidden_request(session: Session) -> bytes:
    """Returns a request that adds a download with a mark."""
    return session.post(session.call_body("aria2.addUri", [MARKER], {"pause": "true"}))


def keep_open(data: bytes) -> bytes:
    """Returns a request after which the connection stays open. Later requests in the same bytes stay as they are."""
    return data.replace(b"Connection: close\r\n", b"", 1)


def smuggling_shapes(session: Session) -> dict[str, bytes]:
    """Returns requests whose length is ambiguous. Each hides a second request that adds a download."""
    hidden = hidden_request(session)
    plain = session.call_body("aria2.getVersion")
    chunk = f"{len(plain):x}\r\n".encode() + plain + b"\r\n0\r\n\r\n"
    both = len(plain) + len(hidden)
    return {
        "two different lengths": session.post(
            plain + hidden, f"Content-Length: {len(plain)}", f"Content-Length: {both}"
        ),
        "two different lengths, the longer first": session.post(
            plain + hidden, f"Content-Length: {both}", f"Content-Length: {len(plain)}"
        ),
        "a list of lengths": session.post(plain + hidden, f"Content-Length: {len(plain)}, {both}"),
        "a length and chunks": session.post(
            chunk + hidden, f"Content-Length: {len(chunk) + len(hidden)}", "Transfer-Encoding: chunked"
        ),
        "chunks and a length": session.post(
            chunk + hidden, "Transfer-Encoding: chunked", f"Content-Length: {len(plain)}"
        ),
        "an unknown transfer coding": session.post(chunk + hidden, "Transfer-Encoding: xchunked"),
        "a transfer coding with a tab": session.post(
            chunk + hidden, "Transfer-Encoding:\tchunked", "Content-Length: 4"
        ),
        "a space before the colon": session.post(plain + hidden, f"Content-Length : {len(plain)}"),
        "a negative length": session.post(plain + hidden, "Content-Length: -1"),
        "a signed length": session.post(plain + hidden, f"Content-Length: +{len(plain)}"),
        "a hexadecimal length": session.post(plain + hidden, f"Content-Length: 0x{len(plain):x}"),
        "a length of 20 digits": session.post(plain + hidden, "Content-Length: 18446744073709551617"),
        "a chunk size that overflows": session.post(b"ffffffffffffffff1\r\n" + hidden, "Transfer-Encoding: chunked"),
        "a folded header": session.post(
            plain + hidden, f"X-Fold: a\r\n Content-Length: {len(plain)}", f"Content-Length: {both}"
        ),
        "a lone line feed": session.post(
            plain + hidden, f"Content-Length: {both}", f"X-A: b\nContent-Length: {len(plain)}"
        ),
    }


def attack_smuggling(session: Session) -> None:
    """Sends requests whose length is ambiguous."""
    plain, hidden = session.call_body("aria2.getVersion"), hidden_request(session)
    exchange(session, keep_open(session.post(plain)) + hidden, 4, until_close=True)
    session.checks.equal("an unambiguous second request adds its download", 1, remove_marked(session))
    for name, data in smuggling_shapes(session).items():
        data = keep_open(data)
        outcome = exchange(session, data, 4, until_close=True)
        session.checks.holds(f"a request with {name} leaves the server alive", session.alive(), outcome)
        smuggled = remove_marked(session)
        if session.bridge:
            session.checks.equal(f"a request with {name} does not smuggle a second one", 0, smuggled)


def marked_downloads(session: Session) -> list[str]:
    """Returns the GIDs of downloads that a smuggled request added."""
    waiting = session.rpc.call("aria2.tellWaiting", 0, 1000, ["gid", "files"])
    return [entry["gid"] for entry in waiting if MARKER in json.dumps(entry["files"])]


def remove_marked(session: Session) -> int:
    """Removes the downloads that a second request added, and returns how many there were."""
    gids = marked_downloads(session)
    for gid in gids:
        session.rpc.call("aria2.forceRemove", gid)
    return len(gids)


def attack_long_heads(session: Session) -> None:
    """Sends a header of 1 MiB, 100,000 headers, and a request line of 1 MiB."""
    body = session.call_body("aria2.getVersion")
    length = f"Content-Length: {len(body)}"
    shapes = {
        "a header of 1 MiB": session.post(body, length, "X-Long: " + "a" * MIB),
        "100,000 headers": session.post(body, length, *[f"X-{n}: a" for n in range(100_000)]),
        "a path of 1 MiB": session.post(body, length, path="/" + "a" * MIB),
        "a query of 1 MiB": b"GET /jsonrpc?params=" + b"A" * MIB + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    }
    for name, data in shapes.items():
        outcome = exchange(session, data)
        session.checks.holds(f"{name} is answered or closed", outcome.handled, outcome)
    if session.bridge:
        endless = session.post(body, length, "X-Long: " + "a" * 4 * MIB)[: 3 * MIB]
        outcome = exchange(session, endless)
        session.checks.holds("a header that never ends is answered or closed", outcome.handled, outcome)
    for name, data in {
        "garbage": os.urandom(4096),
        "a TLS greeting": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20,
        "HTTP/0.9": b"GET /jsonrpc\r\n\r\n",
        "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "an empty request line": b"\r\n\r\n\r\n",
        "CONNECT": b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
    }.items():
        exchange(session, data, 1.5)
        session.checks.holds(f"{name} as a request leaves the server alive", session.alive())


# WebSocket.


def handshake(session: Session, *lines: str, seconds: float = ANSWER_SECONDS) -> tuple[socket.socket, int, bytes]:
    """Opens a WebSocket. Returns the connection, the status, and what came after the head."""
    connection = session.connect(seconds)
    key = base64.b64encode(os.urandom(16)).decode()
    head = [
        "GET /jsonrpc HTTP/1.1",
        f"Host: {session.host}:{session.port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
        *lines,
    ]
    connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n")
    data = b""
    with contextlib.suppress(OSError):
        while b"\r\n\r\n" not in data:
            block = connection.recv(4096)
            if not block:
                break
            data += block
    found = re.match(rb"HTTP/1\.1 (\d{3})", data)
    return connection, int(found.group(1)) if found else 0, data.partition(b"\r\n\r\n")[2]


def frame(
    code: int, payload: bytes, final: bool = True, reserved: int = 0, masked: bool = True, length: int | None = None
) -> bytes:
    """Returns a WebSocket frame. `length` can announce another length than the payload has."""
    size = len(payload) if length is None else length
    head = bytes([(0x80 if final else 0) | reserved << 4 | code])
    mask_bit = 0x80 if masked else 0
    if size < 126:
        head += bytes([mask_bit | size])
    elif size < 65536:
        head += bytes([mask_bit | 126]) + struct.pack(">H", size)
    else:
        head += bytes([mask_bit | 127]) + struct.pack(">Q", size)
    if not masked:
        return head + payload
    mask = os.urandom(4)
    return head + mask + bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))


class WebSocket:
    """A WebSocket client that can break the rules."""

    def __init__(self, session: Session, *lines: str) -> None:
        self.connection, self.status, self.buffer = handshake(session, *lines)

    def __enter__(self) -> WebSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def send(self, data: bytes) -> None:
        """Sends bytes. A server that closed the connection is no error here."""
        with contextlib.suppress(OSError):
            self.connection.sendall(data)

    def take(self, count: int) -> bytes:
        """Reads a number of bytes. Raises `EOFError` if the connection ends, `TimeoutError` at the deadline."""
        while len(self.buffer) < count:
            try:
                block = self.connection.recv(65536)
            except TimeoutError:
                raise
            except OSError as error:
                raise EOFError from error
            if not block:
                raise EOFError
            self.buffer += block
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def receive(self, seconds: float = 8.0) -> tuple[int, bytes] | str:
        """Returns the code and the payload of the next frame, or `closed`, or `silent`."""
        self.connection.settimeout(seconds)
        try:
            first, second = self.take(2)
            size = second & 0x7F
            if size == 126:
                size = struct.unpack(">H", self.take(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self.take(8))[0]
            return first & 0x0F, self.take(size)
        except EOFError:
            return "closed"
        except TimeoutError:
            return "silent"

    def receive_code(self, code: int, seconds: float = 8.0) -> tuple[int, bytes] | str:
        """Returns the next frame with a code. Notifications of other downloads are skipped."""
        deadline = time.monotonic() + seconds
        while True:
            got = self.receive(max(0.1, deadline - time.monotonic()))
            if isinstance(got, str) or got[0] == code or got[0] == CLOSE or time.monotonic() > deadline:
                return got

    def receive_answer(self, identifier: str | None) -> list[Any]:
        """Returns the frames up to the answer with an id, or up to the end of the connection."""
        frames: list[Any] = []
        while not frames or not isinstance(frames[-1], str) and not answered(frames[-1], identifier):
            frames.append(self.receive())
        return frames


def is_closed(got: tuple[int, bytes] | str) -> bool:
    """Tells if a server closed the connection, with a close frame or without."""
    return got == "closed" or (isinstance(got, tuple) and got[0] == CLOSE)


def answered(got: tuple[int, bytes] | str, identifier: str | None) -> bool:
    """Tells if a frame is the answer to a call, or, for None, to a message without an id."""
    return isinstance(got, tuple) and got[0] == TEXT and json.loads(got[1]).get("id", "") == identifier


def attack_good_frames(session: Session) -> None:
    """Sends unusual frames that RFC 6455 allows. They must work."""
    checks, call = session.checks, session.call_body("aria2.getVersion")
    with WebSocket(session) as client:
        checks.equal("a WebSocket handshake is answered with 101", 101, client.status)
        client.send(frame(PING, b"are you there"))
        checks.equal("a ping is answered with its pong", (PONG, b"are you there"), client.receive_code(PONG))
        client.send(frame(PONG, b"unasked"))
        half = len(call) // 2
        client.send(frame(TEXT, call[:half], final=False) + frame(PING, b"between") + frame(0, call[half:]))
        frames = client.receive_answer("h")
        checks.contains("a ping between fragments is answered", (PONG, b"between"), frames)
        checks.holds("a fragmented message is answered", answered(frames[-1], "h"), frames)
        if session.bridge:
            # aria2 1.36 sends a text with the error -32600 after each ping and pong.
            checks.equal(
                "pings and pongs make no error",
                [],
                [got for got in frames if isinstance(got, tuple) and b"error" in got[1]],
            )
        pieces = [
            frame(0 if index else TEXT, call[index : index + 1], final=index == len(call) - 1)
            for index in range(len(call))
        ]
        client.send(b"".join(pieces))
        checks.holds("a message in fragments of one byte is answered", answered(client.receive_answer("h")[-1], "h"))
        client.send(frame(TEXT, b"not JSON"))
        frames = client.receive_answer(None)
        checks.holds(
            "a message that is no JSON is error -32700",
            isinstance(frames[-1], tuple) and json.loads(frames[-1][1])["error"]["code"] == -32700,
            frames,
        )
        client.send(frame(CLOSE, struct.pack(">H", 1000)))
        checks.holds("a close is answered with a close", is_closed(client.receive_code(CLOSE)))
    with WebSocket(session) as client:
        for byte in frame(TEXT, call):
            client.send(bytes([byte]))
        checks.holds("a frame in writes of one byte is answered", answered(client.receive_answer("h")[-1], "h"))
        client.send(frame(BINARY, call))
        got = client.receive_answer("h")[-1]
        checks.holds("a binary message is answered or closes the connection", answered(got, "h") or is_closed(got), got)


def bad_frames(call: bytes) -> dict[str, bytes]:
    """Returns frames that RFC 6455 forbids."""
    return {
        "an unmasked frame": frame(TEXT, call, masked=False),
        "a frame with RSV1": frame(TEXT, call, reserved=4),
        "a frame with RSV2": frame(TEXT, call, reserved=2),
        "a frame with RSV3": frame(TEXT, call, reserved=1),
        "a reserved data code": frame(3, call),
        "a reserved control code": frame(11, b""),
        "a ping of 126 bytes": frame(PING, b"p" * 126),
        "a fragmented ping": frame(PING, b"p", final=False),
        "a continuation without a start": frame(0, call),
        "a new message within a message": frame(TEXT, b"{", final=False) + frame(TEXT, call),
        "a frame of 2^63 bytes": frame(TEXT, b"x" * 100, length=1 << 63),
        "a frame of 4 GiB": frame(TEXT, b"x" * 100, length=1 << 32),
        "a close of one byte": frame(CLOSE, b"x"),
        "a close with a forbidden code": frame(CLOSE, struct.pack(">H", 1005)),
        "a text that is not UTF-8": frame(TEXT, b'{"id":"\xff\xfe\xfd"}'),
    }


def attack_bad_frames(session: Session) -> None:
    """Sends frames that RFC 6455 forbids. The connection must end, and the server must not."""
    for name, data in bad_frames(session.call_body("aria2.getVersion")).items():
        with WebSocket(session) as client:
            client.send(data)
            got = client.receive_code(CLOSE, 3)
        if session.bridge:
            session.checks.holds(f"{name} closes the connection", is_closed(got), got)
        session.checks.holds(f"{name} leaves the server alive", session.alive(), got)


def attack_large_messages(session: Session) -> None:
    """Sends WebSocket messages beyond the limit of 2 MiB, whole and in fragments."""
    with WebSocket(session) as client:
        client.send(frame(TEXT, session.call_body("aria2.tellStatus", "x" * MIB)))
        session.checks.holds(
            "a WebSocket message of 1 MiB is answered or closes the connection", client.receive_code(TEXT) != "silent"
        )
    with WebSocket(session) as client:
        client.send(frame(TEXT, session.call_body("aria2.tellStatus", "x" * 4 * MIB)))
        got = client.receive_code(TEXT)
        session.checks.holds(
            "a WebSocket message of 4 MiB is refused or closes the connection",
            is_closed(got) or (isinstance(got, tuple) and b'"error"' in got[1]),
            got,
        )
    with WebSocket(session) as client:
        before = session.memory()
        client.connection.settimeout(5)
        client.send(frame(TEXT, b"[", final=False))
        piece = frame(0, b"1," * 32768, final=False)
        with contextlib.suppress(OSError):
            for _ in range(64 * 16):
                client.connection.sendall(piece)
        got = client.receive_code(CLOSE, 3)
        if session.bridge:
            session.checks.holds("64 MiB of fragments close the connection", is_closed(got), got)
        if session.pid is not None:
            grown = session.memory() - before
            session.checks.holds(
                "64 MiB of fragments do not stay in memory",
                grown < session.memory_bound,
                grown,
                f"less than {session.memory_bound} bytes more",
            )


def attack_bad_handshakes(session: Session) -> None:
    """Sends WebSocket handshakes with parts missing or wrong."""
    good = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": base64.b64encode(bytes(16)).decode(),
        "Sec-WebSocket-Version": "13",
    }
    changes: dict[str, dict[str, str | None]] = {
        "no key": {"Sec-WebSocket-Key": None},
        "a key of no 16 bytes": {"Sec-WebSocket-Key": "short"},
        "version 99": {"Sec-WebSocket-Version": "99"},
        "no version": {"Sec-WebSocket-Version": None},
        "another upgrade": {"Upgrade": "h2c"},
        "a key of 100 KiB": {"Sec-WebSocket-Key": "A" * 100 * 1024},
    }
    for name, change in changes.items():
        lines = {**good, **change}
        head = [f"{key}: {value}" for key, value in lines.items() if value is not None]
        data = (
            "\r\n".join(["GET /jsonrpc HTTP/1.1", f"Host: {session.host}:{session.port}", *head]).encode() + b"\r\n\r\n"
        )
        outcome = exchange(session, data, 3)
        if session.bridge:
            session.checks.holds(f"a handshake with {name} is not accepted", outcome.status != 101, outcome)
        session.checks.holds(f"a handshake with {name} leaves the server alive", session.alive(), outcome)


def attack_many_sockets(session: Session) -> None:
    """Opens 200 WebSocket connections at once and calls on each."""
    call, served, refused = frame(TEXT, session.call_body("aria2.getVersion")), 0, 0
    with contextlib.ExitStack() as stack:
        clients = []
        for _ in range(200):
            try:
                clients.append(stack.enter_context(WebSocket(session)))
            except OSError:
                refused += 1
        for client in clients:
            client.send(call)
        for client in clients:
            got = client.receive_code(TEXT) if client.status == 101 else "closed"
            served += answered(got, "h")
            refused += is_closed(got)
        session.checks.equal("200 WebSocket connections are each answered or refused", 200, served + refused)
        session.checks.holds("20 of 200 WebSocket connections or more are answered", served >= 20, served)
        session.checks.holds("200 open WebSocket connections do not block a call", session.alive())
    session.checks.becomes("a WebSocket is answered after 200 have closed", True, lambda: one_socket(session, call))


def one_socket(session: Session, call: bytes) -> bool:
    """Tells if one new WebSocket connection is answered."""
    with WebSocket(session) as client:
        client.send(call)
        return client.status == 101 and answered(client.receive_code(TEXT), "h")


def attack_deaf_client(session: Session) -> None:
    """Lets answers and notifications pile up for a client that never reads."""
    before, highest = session.memory(), [0]
    with WebSocket(session) as client:
        client.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connection.settimeout(0.5)
        call = frame(TEXT, json.dumps({"jsonrpc": "2.0", "id": "d", "method": "system.listMethods"}).encode())
        flood(client.connection, call * 100, blocks=1000)
        highest[0] = session.memory()
        for _ in range(300):
            make_notifications(session)
        highest[0] = max(highest[0], session.memory())
        session.checks.holds("a client that never reads does not block a call", session.alive())
    if session.pid is not None:
        grown = highest[0] - before
        session.checks.holds(
            "a client that never reads costs little memory",
            grown < session.memory_bound,
            f"{grown // MIB} MiB more",
            f"less than {session.memory_bound // MIB} MiB more",
        )
    session.rpc.clear()


def flood(connection: socket.socket, block: bytes, blocks: int) -> int:
    """Sends blocks until the other side stops reading or the number is reached. Returns how many were sent."""
    for number in range(blocks):
        try:
            connection.sendall(block)
        except OSError:
            return number
    return blocks


def make_notifications(session: Session) -> None:
    """Adds a download that fails at once, which makes two notifications."""
    session.rpc.call("aria2.addUri", ["http://127.0.0.1:9/refused"], {"max-tries": "1", "dir": str(session.folder)})


# XML.


def xml_call(name: str, value: str, prologue: str = "") -> bytes:
    """Returns the XML of a call with one parameter."""
    return (
        f'<?xml version="1.0"?>{prologue}<methodCall><methodName>{name}</methodName>'
        f"<params><param><value>{value}</value></param></params></methodCall>"
    ).encode()


def attack_entities(session: Session) -> None:
    """Sends XML with entities that expand without end, and that name a file."""
    names = "abcdefghij"
    laughs = "".join(f'<!ENTITY {names[i]} "{("&" + names[i - 1] + ";") * 10}">' for i in range(1, 10))
    bomb = f'<!DOCTYPE m [<!ENTITY a "ha">{laughs}]>'
    square = f'<!DOCTYPE m [<!ENTITY x "{"y" * 50_000}">]>'
    shapes = {
        "a billion laughs": xml_call("aria2.getVersion", "<string>&j;</string>", bomb),
        "an entity that is used 20,000 times": xml_call(
            "aria2.getVersion", f"<string>{'&x;' * 20_000}</string>", square
        ),
        "an entity of itself": xml_call("aria2.getVersion", "<string>&r;</string>", '<!DOCTYPE m [<!ENTITY r "&r;">]>'),
    }
    before = session.memory()
    for name, body in shapes.items():
        outcome = exchange(session, session.post(body, path="/rpc"))
        session.checks.holds(f"XML with {name} is answered or closed", outcome.handled, outcome)
        session.checks.holds(f"XML with {name} leaves the server alive", session.alive())
    if session.pid is not None:
        grown = session.memory() - before
        session.checks.holds("XML with entities costs little memory", grown < session.memory_bound, grown)
    if session.bridge:
        check_external_entities(session)


def check_external_entities(session: Session) -> None:
    """Checks that no answer has the content of a file of the machine."""
    first = Path(SECRET_FILE).read_text().splitlines()[0].encode()
    prologues = {
        "a general entity": f'<!DOCTYPE m [<!ENTITY f SYSTEM "file://{SECRET_FILE}">]>',
        "a public entity": f'<!DOCTYPE m [<!ENTITY f PUBLIC "p" "file://{SECRET_FILE}">]>',
        "a parameter entity": f'<!DOCTYPE m [<!ENTITY % p SYSTEM "file://{SECRET_FILE}">%p;<!ENTITY f "x">]>',
    }
    for name, prologue in prologues.items():
        for method, value in (("&f;", "1"), ("aria2.tellStatus", "&f;"), ("aria2.noSuch", "<string>&f;</string>")):
            outcome = exchange(session, session.post(xml_call(method, value, prologue), path="/rpc"))
            session.checks.holds(
                f"{name} in {method} shows no file", outcome.handled and first not in outcome.data, outcome
            )


def attack_odd_xml(session: Session) -> None:
    """Sends XML that is nested 100,000 deep, and XML that is no call."""
    depth = 30_000
    nested = "<array><data><value>" * depth + "</value></data></array>" * depth
    shapes = {
        "30,000 nested arrays": xml_call("aria2.getVersion", nested),
        "100,000 nested elements": b"<a>" * 100_000 + b"</a>" * 100_000,
        "100,000 open elements": b"<a>" * 100_000,
        "an attribute of 1 MiB": b'<methodCall a="' + b"x" * MIB + b'"/>',
        "no call": b"<html></html>",
        "an empty body": b"",
        "a broken tag": b"<methodCall><",
        "JSON": b'{"method":1}',
        "a number that is none": xml_call("aria2.tellWaiting", "<int>99999999999999999999999</int>"),
        "bytes that are no base64": xml_call("aria2.addTorrent", "<base64>!!!</base64>"),
        "bytes that are not UTF-8": b"<methodCall><methodName>\xff\xfe</methodName></methodCall>",
    }
    for name, body in shapes.items():
        outcome = exchange(session, session.post(body, path="/rpc"), 8)
        session.checks.holds(f"XML with {name} is answered or closed", outcome.handled, outcome)
        session.checks.holds(f"XML with {name} leaves the server alive", session.alive())


# Web pages.


def attack_rebinding(session: Session) -> None:
    """Calls with the Host header of another name, as after DNS rebinding. Only the bridge must refuse it."""
    if not session.bridge:
        return
    call = session.call_body("aria2.getVersion")
    for host in (
        "evil.example",
        f"evil.example:{session.port}",
        f"127.0.0.1.evil.example:{session.port}",
        f"localhost.evil.example:{session.port}",
        f"127.0.0.1@evil.example:{session.port}",
        "",
        "a b",
    ):
        outcome = exchange(session, session.post(call, host=host or " "))
        session.checks.holds(
            f"the host {host!r} is refused", outcome.handled and b'"result"' not in outcome.data, outcome
        )
    with WebSocketOfHost(session, "evil.example") as status:
        session.checks.holds("a WebSocket with a foreign host is refused", status != 101, status)
    for host in (
        "127.0.0.1",
        f"127.0.0.1:{session.port}",
        "localhost",
        f"localhost:{session.port}",
        f"LOCALHOST:{session.port}",
    ):
        outcome = exchange(session, session.post(call, host=host))
        session.checks.holds(f"the host {host!r} is served", b'"version"' in outcome.data, outcome)


class WebSocketOfHost:
    """The status of a WebSocket handshake with a Host header of its own."""

    def __init__(self, session: Session, host: str) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        head = (
            f"GET /jsonrpc HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        self.status = exchange(session, head.encode(), 3).status

    def __enter__(self) -> int:
        return self.status

    def __exit__(self, *_: object) -> None:
        """Does nothing: the exchange closed its connection."""


def attack_foreign_origin(session: Session) -> None:
    """Calls as a foreign page does, which does not know the secret. Only the bridge is checked."""
    if not session.bridge:
        return
    page = ("Origin: http://evil.example", "Content-Type: text/plain")
    body = json.dumps({"id": "o", "method": "aria2.addUri", "params": [[MARKER], {"pause": "true"}]}).encode()
    outcome = exchange(session, session.post(body, f"Content-Length: {len(body)}", *page))
    session.checks.holds("a foreign page without the secret gets no result", b'"result"' not in outcome.data, outcome)
    session.checks.equal("a foreign page without the secret adds no download", [], marked_downloads(session))
    for method in ("getVersion", "getGlobalOption", "tellActive"):
        query = f"/jsonrpc?method=aria2.{method}&id=o&jsoncallback=steal"
        request = f"GET {query} HTTP/1.1\r\nHost: {session.host}:{session.port}\r\n\r\n"
        outcome = exchange(session, request.encode())
        session.checks.holds(
            f"a script element without the secret gets no result of {method}",
            outcome.handled and b'"result"' not in outcome.data,
            outcome,
        )
    with WebSocket(session, "Origin: http://evil.example") as client:
        client.send(frame(TEXT, body))
        got = client.receive_code(TEXT) if client.status == 101 else "closed"
        session.checks.holds(
            "a WebSocket of a foreign page without the secret gets no result",
            is_closed(got) or (isinstance(got, tuple) and b'"result"' not in got[1]),
            got,
        )
    session.checks.equal("a WebSocket of a foreign page adds no download", [], marked_downloads(session))


ATTACKS: list[Callable[[Session], None]] = [
    attack_large_params,
    attack_too_large,
    attack_deep_json,
    attack_many_members,
    attack_many_uris,
    attack_odd_json,
    attack_wrong_secrets,
    attack_silence,
    attack_pipeline,
    attack_smuggling,
    attack_long_heads,
    attack_good_frames,
    attack_bad_frames,
    attack_large_messages,
    attack_bad_handshakes,
    attack_many_sockets,
    attack_deaf_client,
    attack_entities,
    attack_odd_xml,
    attack_rebinding,
    attack_foreign_origin,
]


def chosen(part: str | None) -> Iterator[Callable[[Session], None]]:
    """Yields the attacks whose name has a part."""
    yield from (attack for attack in ATTACKS if part is None or part in attack.__name__)


def main() -> int:
    """Runs all attacks."""
    options = arguments(
        __doc__,
        ("--pid", {"type": int, "help": "the process of the server, for its memory"}),
        ("--memory", {"type": int, "default": 128, "help": "how many MiB the server may grow by (default: 128)"}),
        ("--bridge", {"action": "store_true", "help": "run the checks that aria2c need not pass"}),
        ("--only", {"help": "run the attacks with this part in their name"}),
    )
    checks = Checks(minimum=1 if options.only else 120)
    session = Session(options, checks)
    wait_for("the server", session.alive)
    for attack in chosen(options.only):
        name = attack.__name__.removeprefix("attack_").replace("_", " ")
        began = time.monotonic()
        with checks.section(name):
            attack(session)
        checks.holds(f"getVersion answers after {name}", session.alive())
        print(f"# {name}: {time.monotonic() - began:.1f} s, {session.memory() // MIB} MiB", flush=True)
    with checks.section("clear"):
        session.rpc.clear()
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
