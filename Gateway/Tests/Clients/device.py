"""A device that speaks the gateway's protocol, written from its description alone."""

import os
import select
import socket
import struct
import threading

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

KINDS = ("hello connect connected enrol enrolled topics message acknowledge ping pong state register registered "
         "unregister unregistered refused goAway").split()
FIELDS = ("version nonce device signature keepAlive state choice push topic timestamp expiry priority type collapseID "
          "storage payload request token fresh code key name refusal text retryAfter endpoints").split()


def field(name, value):
    return struct.pack(">BH", FIELDS.index(name) + 1, len(value)) + value


def frame(kind, *fields):
    body = b"".join(fields)
    return struct.pack(">BI", KINDS.index(kind) + 1, len(body)) + body


class Closed(Exception):
    pass


class Device:
    def __init__(self, gateway):
        self.gateway = gateway
        self.key = Ed25519PrivateKey.generate()
        self.id = None
        self.socket = None
        self.messages = []
        self.requests = 0
        self.changed = threading.Condition()
        self.answers = {}
        self.pongs = 0
        self.ended = None
        self.endpoints = None
        self.acknowledges = True
        self.reader = None
        self.wire = threading.RLock()

    # Methods for frames on the connection.

    def open(self):
        if self.reader:
            self.disconnect()
        plain = socket.create_connection(("127.0.0.1", self.gateway.device_port))
        plain.settimeout(30)
        self.socket = self.gateway.trust(alpn=None).wrap_socket(plain, server_hostname="localhost")
        self.ended = None
        kind, fields = self.read()
        assert kind == "hello", kind
        self.nonce = fields["nonce"]

    def exactly(self, connection, count):
        data = b""
        while len(data) < count:
            if not connection.pending():
                # `select` does not work with descriptors above 1,023.
                poll = select.poll()
                poll.register(connection, select.POLLIN)
                poll.poll(30_000)
            # An OpenSSL connection may be used by only one thread at a time.
            with self.wire:
                piece = connection.recv(count - len(data))
            if not piece:
                raise Closed()
            data += piece
        return data

    def read(self, connection=None):
        connection = connection or self.socket
        kind, length = struct.unpack(">BI", self.exactly(connection, 5))
        body = self.exactly(connection, length)
        fields = {}
        while body:
            name, size = struct.unpack(">BH", body[:3])
            assert name > 0 and len(body) >= 3 + size, "no field"
            fields[FIELDS[name - 1]] = body[3:3 + size]
            body = body[3 + size:]
        return KINDS[kind - 1], fields

    def send(self, kind, *fields):
        with self.wire:
            self.socket.sendall(frame(kind, *fields))

    # Methods for the operations of a device.

    def enrol(self, code, name="test"):
        self.open()
        public = self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.send("enrol", field("code", code.encode()), field("key", public), field("name", name.encode()))
        kind, fields = self.read()
        if kind == "enrolled":
            self.id = fields["device"]
        self.socket.close()
        return kind

    def connect(self, state=1, topics=(), signature=None, acknowledges=True):
        """Returns the kind of the gateway's answer. If it is `connected`, a thread continues to read."""
        self.open()
        self.acknowledges = acknowledges
        signed = signature or self.key.sign(b"nightshift push connect 1\0" + self.id + self.nonce)
        self.send(
            "connect", field("version", b"\1"), field("device", self.id), field("signature", signed),
            field("keepAlive", struct.pack(">I", 60)), field("state", bytes([state])),
            *(field("choice", bytes([choice]) + topic.encode()) for topic, choice in topics))
        kind, fields = self.read()
        if kind == "connected":
            self.endpoints = fields["endpoints"].decode() if "endpoints" in fields else None
            self.reader = threading.Thread(target=self.listen, args=(self.socket,), daemon=True)
            self.reader.start()
        return kind

    def listen(self, connection):
        try:
            while True:
                kind, fields = self.read(connection)
                with self.changed:
                    if connection is not self.socket:
                        return
                    if kind == "message":
                        self.messages.append(fields)
                        if self.acknowledges:
                            self.send("acknowledge", field("push", fields["push"]))
                    elif kind == "pong":
                        self.pongs += 1
                    elif kind == "goAway":
                        self.ended = fields["text"].decode()
                    elif "request" in fields:
                        self.answers[fields["request"]] = (kind, fields)
                    self.changed.notify_all()
        except (Closed, OSError):
            with self.changed:
                # The end of this connection does not concern a newer one.
                if connection is self.socket:
                    self.ended = self.ended or "lost"
                self.changed.notify_all()

    def wait(self, condition):
        with self.changed:
            if not self.changed.wait_for(condition, timeout=60):
                raise AssertionError(f"nothing came of it; {len(self.messages)} messages, ended: {self.ended}")

    def ask(self, kind, topic, fresh=False):
        self.requests += 1
        request = struct.pack(">I", self.requests)
        self.send(
            kind, field("request", request), field("topic", topic.encode()), *([field("fresh", b"\1")] if fresh else []))
        self.wait(lambda: request in self.answers or self.ended)
        return self.answers[request]

    def register(self, topic, fresh=False):
        kind, fields = self.ask("register", topic, fresh)
        return fields["token"].decode() if kind == "registered" else kind

    def ping(self):
        before = self.pongs
        self.send("ping", field("keepAlive", struct.pack(">I", 60)))
        self.wait(lambda: self.pongs > before or self.ended)

    def disconnect(self):
        try:
            # SSLSocket's own method is not used: its reader would get the encrypted bytes.
            socket.socket.shutdown(self.socket, socket.SHUT_RDWR)
        except OSError:
            pass
        # Closing the descriptor while its reader uses it would let another connection reuse it.
        if self.reader:
            self.reader.join()
            self.reader = None
        self.socket.close()

    def payloads(self):
        with self.changed:
            return [message["payload"].decode() for message in self.messages]

    @classmethod
    def new(cls, gateway, **options):
        device = cls(gateway)
        assert device.enrol(gateway.enrolment_code()) == "enrolled"
        assert device.connect(**options) == "connected"
        return device


def noise(count):
    return os.urandom(count)
