"""A web server on the host's loopback that the machine reaches as 10.0.2.2, and that counts every byte of a transfer.

Files are made of their names, so that both sides know their content. Rates keep the buffers between server and machine short:
what is in them when the power is cut counts as sent, although the machine never had it.
"""

import collections
import hashlib
import json
import random
import re
import socket
import struct
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PIECE = 1 << 20
MODIFIED = "Fri, 20 Nov 2026 10:00:00 GMT"


class Content:
    """The bytes of a file: pieces of 1 MiB, each with its number, so that no piece passes for another."""

    def __init__(self, name, size):
        self.size = size
        self.base = random.Random(name).randbytes(PIECE)

    def read(self, offset, length):
        parts = []
        end = min(offset + length, self.size)
        while offset < end:
            number, start = divmod(offset, PIECE)
            piece = number.to_bytes(16, "big") + self.base[16:]
            part = piece[start:start + end - offset]
            parts.append(part)
            offset += len(part)
        return b"".join(parts)

    def digest(self):
        digest = hashlib.sha256()
        for offset in range(0, self.size, PIECE):
            digest.update(self.read(offset, PIECE))
        return digest.hexdigest()


class Request:
    """One request for a file: where it began, and how much of it was sent."""

    def __init__(self, offset):
        self.offset, self.sent, self.time = offset, 0, time.time()


class Pace:
    """A rate in bytes per second that all connections of one file share."""

    def __init__(self):
        self.lock = threading.Lock()
        self.next = 0

    def wait(self, count, rate):
        with self.lock:
            now = time.monotonic()
            start = max(now, self.next)
            self.next = start + count / rate
        time.sleep(start - now)


class Upload:
    """What the server has of one upload."""

    def __init__(self, length):
        self.length, self.digest, self.have = length, hashlib.sha256(), 0


class Origin:
    """The server and what it has counted."""

    def __init__(self):
        self.lock = threading.Lock()
        self.packages = {}
        self.reset()
        origin = self

        class BoundHandler(Handler):
            pass

        BoundHandler.origin = origin
        self.server = Server(("127.0.0.1", 0), BoundHandler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def reset(self):
        """Forgets what earlier checks have transferred."""
        self.requests = collections.defaultdict(list)
        self.paces = collections.defaultdict(Pace)
        # Rates by name that replace those of the URLs.
        self.rates = {}
        self.uploads = {}
        # Every byte of an upload's bodies, and the digests of the uploads that were complete, by name.
        self.received = collections.Counter()
        self.complete = collections.defaultdict(list)
        # While it is true, every request gets a log-in page, as in a hotel.
        self.portal = False
        self.portal_answers = 0
        # What the machine has said by /signal/NAME.
        self.signals = set()
        self.place = None
        self.place_requests = 0

    def url(self, path):
        return f"http://10.0.2.2:{self.port}{path}"

    def file_url(self, name, size, rate=None):
        """Returns the URL of a file of a size, sent at a rate in bytes per second."""
        return self.url(f"/file/{name}?size={size}" + (f"&rate={int(rate)}" if rate else ""))

    def hurry(self, *names):
        """Sends the rest of these files quickly. Until then, their URLs' rates keep them under way."""
        for name in names:
            self.rates[name] = 8 << 20

    def sent(self, name):
        with self.lock:
            return sum(request.sent for request in self.requests[name])

    def furthest(self, name):
        with self.lock:
            return max((request.offset + request.sent for request in self.requests[name]), default=0)

    def disconnect(self):
        """Resets every connection, as a server that has waited long enough."""
        self.server.reset_connections()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *arguments):
        self.connections = set()
        super().__init__(*arguments)

    def process_request_thread(self, request, client_address):
        self.connections.add(request)
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.connections.discard(request)

    def reset_connections(self):
        for connection in list(self.connections):
            try:
                # Closing then sends a reset instead of an orderly end.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def handle_error(self, request, client_address):
        # A connection that ended with the power of its machine.
        pass


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 300

    def setup(self):
        super().setup()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 10)

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=b"", **fields):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        path, _, query = self.path.partition("?")
        options = dict(urllib.parse.parse_qsl(query))
        if path.startswith("/packages/"):
            return self.package(path.removeprefix("/packages/"))
        if self.origin.portal:
            self.origin.portal_answers += 1
            return self.answer(200, b"<html><body>Please log in.</body></html>", Content_Type="text/html")
        if path == "/connectivity":
            return self.answer(200, b"NetworkManager is online\n", X_NetworkManager_Status="online", Content_Type="text/plain")
        if path.startswith("/signal/"):
            self.origin.signals.add(path.removeprefix("/signal/"))
            return self.answer(204)
        if path.startswith("/file/"):
            return self.file(path.removeprefix("/file/"), int(options["size"]), int(options.get("rate", 0)))
        self.answer(404, b"not here")

    def package(self, name):
        source = self.origin.packages.get(name)
        if source is None:
            return self.answer(404)
        self.answer(200, Path(source).read_bytes())

    def file(self, name, size, rate):
        tag = f'"{name}-{size}"'
        start, status = 0, 200
        found = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        end = size
        if found and self.headers.get("If-Range", tag) in (tag, MODIFIED) and int(found[1]) < size:
            start, status = int(found[1]), 206
            end = min(size, int(found[2]) + 1) if found[2] else size
        self.send_response(status)
        self.send_header("Content-Length", str(end - start))
        self.send_header("ETag", tag)
        self.send_header("Last-Modified", MODIFIED)
        self.send_header("Accept-Ranges", "bytes")
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        self.end_headers()
        if self.command == "HEAD":
            return
        request = Request(start)
        with self.origin.lock:
            self.origin.requests[name].append(request)
        self.send_file(name, Content(name, size), request, end, rate)

    def send_file(self, name, content, request, end, rate):
        pace = self.origin.paces[name]
        offset = request.offset
        try:
            while offset < end:
                now = self.origin.rates.get(name, rate)
                chunk = max(4096, min(64 << 10, now // 20)) if now else 64 << 10
                data = content.read(offset, min(chunk, end - offset))
                if now:
                    pace.wait(len(data), now)
                self.wfile.write(data)
                offset += len(data)
                request.sent = offset - request.offset
        except OSError:
            self.close_connection = True

    do_HEAD = do_GET

    def body(self, name, take):
        """Reads a request's body, and hands over its parts. Returns whether all of it came."""
        left = int(self.headers.get("Content-Length", 0))
        rate = int(dict(urllib.parse.parse_qsl(self.path.partition("?")[2])).get("rate", 0))
        while left:
            try:
                data = self.rfile.read1(min(left, 64 << 10))
            except OSError:
                data = b""
            if not data:
                self.close_connection = True
                return False
            left -= len(data)
            with self.origin.lock:
                self.origin.received[name] += len(data)
            take(data)
            now = self.origin.rates.get(name, rate)
            if now:
                self.origin.paces[name].wait(len(data), now)
        return True

    def do_PUT(self):
        name = self.path.partition("?")[0].removeprefix("/put/")
        digest = hashlib.sha256()
        if self.headers.get("Expect", "").lower() == "100-continue":
            self.send_response_only(100)
            self.end_headers()
        if self.body(name, digest.update):
            with self.origin.lock:
                self.origin.complete[name].append(digest.hexdigest())
            self.answer(201, b"stored")

    # tus 1.0 (https://tus.io/protocols/resumable-upload)

    def do_POST(self):
        path, _, query = self.path.partition("?")
        if path == "/v1/geolocate":
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.origin.place_requests += 1
            if self.origin.place is None:
                return self.answer(404, b"{}", Content_Type="application/json")
            latitude, longitude, accuracy = self.origin.place
            body = json.dumps({"location": {"lat": latitude, "lng": longitude}, "accuracy": accuracy}).encode()
            return self.answer(200, body, Content_Type="application/json")
        name = path.removeprefix("/tus/")
        if not path.startswith("/tus/"):
            return self.answer(404)
        length = int(self.headers["Upload-Length"])
        with self.origin.lock:
            number = len(self.origin.uploads) + 1
            self.origin.uploads[f"{number}-{name}"] = Upload(length)
        suffix = f"?{query}" if query else ""
        self.answer(201, Location=f"/tus-upload/{number}-{name}{suffix}", Tus_Resumable="1.0.0")

    def upload(self):
        key = self.path.partition("?")[0].removeprefix("/tus-upload/")
        return key, self.origin.uploads.get(key)

    def do_OPTIONS(self):
        self.answer(204, Tus_Resumable="1.0.0", Tus_Version="1.0.0", Tus_Extension="creation")

    def do_PATCH(self):
        key, upload = self.upload()
        if upload is None:
            return self.answer(404, Tus_Resumable="1.0.0")
        if int(self.headers["Upload-Offset"]) != upload.have:
            return self.answer(409, Tus_Resumable="1.0.0")
        name = key.partition("-")[2]

        def take(data):
            upload.digest.update(data)
            upload.have += len(data)

        if self.body(name, take):
            if upload.have == upload.length:
                with self.origin.lock:
                    self.origin.complete[name].append(upload.digest.hexdigest())
            self.answer(204, Tus_Resumable="1.0.0", Upload_Offset=str(upload.have))

    def head_upload(self):
        _, upload = self.upload()
        if upload is None:
            return self.answer(404, Tus_Resumable="1.0.0")
        self.answer(200, Tus_Resumable="1.0.0", Upload_Offset=str(upload.have), Upload_Length=str(upload.length),
                    Cache_Control="no-store")

    def __getattribute__(self, name):
        if name == "do_HEAD" and self.path.startswith("/tus-upload/"):
            return object.__getattribute__(self, "head_upload")
        return object.__getattribute__(self, name)
