#!/usr/bin/env python3
"""The origin of the consumers: small files, uploads, statuses, redirects, cookies and a password, on loopback.

Writes its port to the file that is its argument, and ends when its standard input does.
"""

import base64
import collections
import gzip
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


# Set by /release/NAME: /held/NAME sends its second half then.
released = collections.defaultdict(threading.Event)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

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

    def file(self, name, lines=100):
        body = (f"This is {name}.\n" * lines).encode()
        if self.headers.get("If-None-Match") == f'"{name}"':
            return self.answer(304, ETag=f'"{name}"')
        fields = {"Content_Type": "text/plain", "ETag": f'"{name}"', "Accept_Ranges": "bytes"}
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes=") and self.headers.get("If-Range", f'"{name}"') == f'"{name}"':
            first, _, last = wanted[len("bytes="):].partition("-")
            if first.isdigit() and int(first) < len(body):
                end = min(int(last), len(body) - 1) if last.isdigit() else len(body) - 1
                fields["Content_Range"] = f"bytes {first}-{end}/{len(body)}"
                return self.answer(206, body[int(first):end + 1], **fields)
        self.answer(200, body, **fields)

    def held(self, name):
        body = (f"This is {name}.\n" * 100_000).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:len(body) // 2])
        self.wfile.flush()
        released[name].wait(300)
        self.wfile.write(body[len(body) // 2:])

    def shown_fields(self):
        """What the request's header fields were, one to a line."""
        return "".join(f"{name}: {value}\n" for name, value in self.headers.items()).encode()

    def endless(self, name, start=b"x" * 1000, size=1 << 20):
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.send_header("ETag", f'"{name}"')
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        try:
            self.wfile.write(start)
            self.wfile.flush()
            # Until the other side closes.
            self.rfile.read(1)
        except ConnectionError:
            pass
        self.close_connection = True

    def do_GET(self):
        _, kind, *rest = self.path.split("?")[0].split("/")
        if kind == "file":
            self.file(rest[0])
        elif kind == "endless":
            self.endless(rest[0])
        elif kind == "halves":
            # The first two thirds, and the rest for who asks for it.
            if "Range" in self.headers:
                self.file(rest[0], lines=100_000)
            else:
                body = (f"This is {rest[0]}.\n" * 100_000).encode()
                self.endless(rest[0], body[:len(body) * 2 // 3], len(body))
        elif kind == "held":
            self.held(rest[0])
        elif kind == "release":
            released[rest[0]].set()
            self.answer(204)
        elif kind == "gzip":
            body = gzip.compress((f"This is {rest[0]}.\n" * 100).encode())
            self.answer(200, body, Content_Type="text/plain", Content_Encoding="gzip")
        elif kind == "status":
            self.answer(int(rest[0]), b"a status", Content_Type="text/plain")
        elif kind == "redirect":
            self.answer(302, Location="/file/" + rest[0])
        elif kind == "basic":
            user, password, name = rest
            expected = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
            if self.headers.get("Authorization") == expected:
                self.file(name)
            else:
                self.answer(401, b"who?", WWW_Authenticate='Basic realm="consumers"', X_Reason="nobody")
        elif kind == "fields":
            self.answer(200, self.shown_fields())
        elif kind == "cookie":
            name, value = rest
            self.answer(200, self.shown_fields(), Set_Cookie=f"{name}={value}; Path=/")
        elif kind == "cookie-redirect":
            name, value = rest
            self.answer(302, Location="/fields", Set_Cookie=f"{name}={value}; Path=/")
        else:
            self.answer(404, b"not here")

    do_HEAD = do_GET

    def upload(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.answer(201, f"{self.command} {len(body)} {body[:20].decode(errors='replace')}".encode())

    do_PUT = do_POST = do_DELETE = upload


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(server.server_address[1]))
os.rename(sys.argv[1] + ".new", sys.argv[1])
sys.stdin.read()
