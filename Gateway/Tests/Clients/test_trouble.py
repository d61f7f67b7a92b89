"""Tests of a failing disk, a shutdown, changed certificates and hostile devices."""

import json
import os
import socket
import sqlite3
import ssl
import struct
import subprocess
import threading
import time
import unittest
import urllib.error
import uuid

import hyperframe.frame
from cryptography import x509

from device import Closed, Device, field, frame, noise
from gateway import TOPIC, Gateway
from provider import PAYLOAD, Provider

BINARY = os.environ["NIGHTSHIFT_GATEWAY"]


class Trouble(unittest.TestCase):
    def setUp(self):
        self.gateway = Gateway(BINARY, "--plain-providers", "0").__enter__()
        self.device = Device.new(self.gateway)
        self.token = self.device.register(TOPIC)

    def tearDown(self):
        self.device.disconnect()
        self.gateway.__exit__()

    def push(self, provider=None):
        provider = provider or Provider(self.gateway)
        return provider.push(self.token, authorization="bearer " + self.gateway.token(), apns_topic=TOPIC)

    def health(self):
        try:
            self.gateway.status("/healthz")
        except urllib.error.HTTPError as error:
            return error.code
        return 200

    def test_modes(self):
        """R5: Only the owner can read the database, even in a folder that others may enter."""
        self.device.disconnect()
        self.gateway.kill()
        os.chmod(self.gateway.path("state"), 0o755)
        for mode in (0o644, None):
            for name in os.listdir(self.gateway.path("state")):
                path = self.gateway.path("state/" + name)
                if name.startswith("gateway.sqlite"):
                    os.chmod(path, mode) if mode else os.unlink(path)
            old = os.umask(0o022)
            self.gateway.start()
            os.umask(old)
            self.gateway.admin("team", "add", "TEAM00000" + str(mode)[:1], "x")
            names = [name for name in os.listdir(self.gateway.path("state")) if name.startswith("gateway.sqlite")]
            self.assertIn("gateway.sqlite-wal", names)
            for name in names:
                self.assertEqual(os.stat(self.gateway.path("state/" + name)).st_mode & 0o777, 0o600, name)
            self.gateway.kill()

    def test_words(self):
        """R5: A command reports that an object does not exist or already exists."""
        key = self.gateway.path("KEY0000001.p8")
        for words, sentence in (
                (["key", "add", "KEY0000009", key, "--team", "NOSUCHTEAM"], "The team 'NOSUCHTEAM' does not exist."),
                (["topic", "add", "org.example.New", "--team", "NOSUCHTEAM"], "The team 'NOSUCHTEAM' does not exist."),
                (["team", "add", "TEAM000001", "x"], "The team 'TEAM000001' already exists."),
                (["key", "add", "KEY0000001", key, "--team", "TEAM000001"], "The key 'KEY0000001' already exists."),
                (["topic", "add", TOPIC, "--team", "TEAM000001"], f"The topic '{TOPIC}' already exists.")):
            with self.assertRaises(RuntimeError) as raised:
                self.gateway.admin(*words)
            self.assertIn(sentence, str(raised.exception))
            self.assertNotIn("constraint", str(raised.exception))

    def test_disk(self):
        """R5: If the disk cannot store a push, the push gets no 200, and the health check fails."""
        database = sqlite3.connect(self.gateway.path("state/gateway.sqlite"), isolation_level=None)
        self.assertEqual(self.push().status, 200)
        database.execute("BEGIN IMMEDIATE")
        answer = self.push()
        self.assertEqual((answer.status, answer.reason), (503, "ServiceUnavailable"))
        self.assertEqual(self.health(), 503)
        database.execute("ROLLBACK")
        # This must work without pushes, because a load balancer checks the health before it sends any.
        self.assertEqual(self.health(), 200)
        self.assertEqual(self.push().status, 200)
        database.execute("ALTER TABLE push RENAME TO elsewhere")
        answer = self.push()
        self.assertEqual((answer.status, answer.reason), (500, "InternalServerError"))
        self.assertEqual(self.health(), 503)
        database.execute("ALTER TABLE elsewhere RENAME TO push")
        self.assertEqual(self.push().status, 200)
        database.close()

    def test_disk_reading(self):
        """R5: A device gets its stored pushes although nothing can be written."""
        self.device.disconnect()
        self.assertEqual(self.push().status, 200)
        database = sqlite3.connect(self.gateway.path("state/gateway.sqlite"), isolation_level=None)
        database.execute("BEGIN IMMEDIATE")
        self.assertEqual(self.device.connect(), "connected")
        self.device.wait(lambda: self.device.messages or self.device.ended)
        self.assertEqual(len(self.device.messages), 1)
        database.execute("ROLLBACK")
        database.close()

    def test_stop(self):
        """R5: A gateway that shuts down notifies every connection, and answers further requests with Shutdown."""
        provider = Provider(self.gateway)
        self.assertEqual(self.push(provider).status, 200)
        stream = provider.begin(
            self.token, PAYLOAD, ends=False, authorization="bearer " + self.gateway.token(), apns_topic=TOPIC)
        provider.synchronise()
        self.gateway.process.terminate()
        while provider.going_away is None:
            provider.read()
        self.assertEqual(json.loads(provider.going_away), {"reason": "Shutdown"})
        # The library sends nothing after a GOAWAY, so the test writes the rest itself.
        end = hyperframe.frame.DataFrame(stream)
        end.flags.add("END_STREAM")
        provider.socket.sendall(end.serialize())
        received = b""
        while piece := provider.socket.recv(65536):
            received += piece
        self.assertIn(b'{"reason":"Shutdown"}', received)
        self.device.wait(lambda: self.device.ended)
        self.assertEqual(self.device.ended, "The gateway is shutting down.")
        self.assertEqual(self.gateway.process.wait(), 0)

    def test_certificate(self):
        """R5: A changed certificate is used for new connections, and an invalid one does not replace the last."""
        def serial():
            plain = socket.create_connection(("127.0.0.1", self.gateway.port))
            with self.gateway.trust().wrap_socket(plain, server_hostname="localhost") as connection:
                return x509.load_der_x509_certificate(connection.getpeercert(True)).serial_number

        first = serial()
        second = self.gateway.renew_certificate()
        self.assertNotEqual(first, second)
        self.assertEqual(serial(), second)
        self.gateway.write("tls.pem", b"nonsense")
        self.assertEqual(serial(), second)

    def test_oversized(self):
        """R5: An oversized header field or body fails only its own request."""
        provider = Provider(self.gateway)
        stream = provider.begin(
            self.token, authorization="bearer " + "x" * 12_000, apns_topic=TOPIC)
        self.assertNotEqual(provider.finish(stream).status, 200)
        provider = Provider(self.gateway)
        for _ in range(10):
            answer = provider.push(
                self.token, b"x" * 50_000, authorization="bearer " + self.gateway.token(), apns_topic=TOPIC)
            self.assertEqual(answer.reason, "PayloadTooLarge")
            provider = Provider(self.gateway)
        self.assertEqual(self.push().status, 200)

    def test_plain(self):
        """R5: Providers without TLS are accepted on loopback if this was requested."""
        self.assertEqual(self.push(Provider(self.gateway, plain=True)).status, 200)

    def test_old_versions(self):
        """R5: TLS 1.1 is refused."""
        context = self.gateway.trust()
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
        context.set_ciphers("ALL:@SECLEVEL=0")
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            context.wrap_socket(socket.create_connection(("127.0.0.1", self.gateway.port)), server_hostname="localhost")

    def test_second(self):
        """R5: A second gateway on the same folder is refused, and the first one continues."""
        second = subprocess.run(
            [BINARY, "run", "--certificate", self.gateway.path("tls.pem"), "--key", self.gateway.path("tls.key"),
             "--state", self.gateway.path("state"), "--providers", "127.0.0.1:0", "--devices", "127.0.0.1:0",
             "--status", "127.0.0.1:0"], capture_output=True, encoding="utf-8")
        self.assertNotEqual(second.returncode, 0)
        self.assertIn("Another gateway is using the folder", second.stderr)
        self.assertEqual(self.gateway.admin("status")[0]["deviceConnections"], 1)

    def test_passwords(self):
        """R5: Errors do not contain the password in the URL of a shared store."""
        for store in ("nats://user:secret@127.0.0.1:1", "nats://user:secret@127.0.0.1:x",
                      "nats://user:secret@127.0.0.1:1,127.0.0.1"):
            for words in (["run", "--certificate", self.gateway.path("tls.pem"), "--key", self.gateway.path("tls.key"),
                           "--state", self.gateway.path("other")],
                          ["doctor"]):
                result = subprocess.run([BINARY, *words, "--store", store], capture_output=True, encoding="utf-8")
                self.assertNotEqual(result.returncode, 0, store)
                self.assertNotIn("secret", result.stdout + result.stderr)

    def test_trickle(self):
        """R5: A client that sends a byte now and then is disconnected unless it authenticates in time."""
        device = Device(self.gateway)
        device.open()
        device.socket.settimeout(0.5)
        sent = 0
        while True:
            try:
                device.socket.sendall(b"\2" if sent == 0 else b"\0")
                sent += 1
                if not device.socket.recv(100):
                    break
            except TimeoutError:
                pass
            except OSError:
                break
        self.assertGreater(sent, 5)

    def test_status(self):
        """R5: The gateway serves its health and metrics."""
        self.push()
        self.assertEqual(self.gateway.status("/healthz"), "ok\n")
        metrics = self.gateway.status("/metrics")
        self.assertIn('nightshift_gateway_pushes_total{outcome="stored"} 1', metrics)
        self.assertIn('nightshift_gateway_connections{kind="device"} 1', metrics)
        self.assertEqual(self.gateway.admin("status")[0]["deviceConnections"], 1)

    def test_status_pipelined(self):
        """R5: Health requests that arrive in one packet are answered one by one."""
        for _ in range(5):
            connection = socket.create_connection(("127.0.0.1", self.gateway.status_port))
            connection.settimeout(60)
            count = 3_000
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" + b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * count)
            answers = b""
            while answers.count(b"HTTP/1.1 404 ") < count:
                piece = connection.recv(65536)
                self.assertTrue(piece, "the gateway is gone")
                answers += piece
            connection.close()
        self.assertEqual(self.gateway.status("/healthz"), "ok\n")

    def test_impostors(self):
        """R5: A wrong or replayed signature, another device's id and a used code do not give access."""
        code = self.gateway.enrolment_code()
        first, second = Device(self.gateway), Device(self.gateway)
        self.assertEqual(first.enrol(code), "enrolled")
        self.assertEqual(second.enrol(code), "goAway")
        self.assertEqual(second.enrol("no" * 16), "goAway")
        second.id = self.device.id
        self.assertEqual(second.connect(), "goAway")
        first.open()
        signature = first.key.sign(b"nightshift push connect 1\0" + first.id + first.nonce)
        first.disconnect()
        self.assertEqual(first.connect(signature=signature), "goAway")
        second.id = noise(16)
        self.assertEqual(second.connect(), "goAway")
        self.assertEqual(first.connect(), "connected")
        self.assertEqual(first.register("org.example.Unknown"), "refused")
        # Registering another device's topic registers it only for this device.
        self.assertNotEqual(first.register(TOPIC), self.token)
        first.disconnect()

    def test_noise(self):
        """R5: Random bytes end their connection, and the gateway continues."""
        for number in range(60):
            device = Device(self.gateway)
            device.open()
            bytes_sent = [
                noise(200), frame("ping", field("keepAlive", b"\0" * 4)), struct.pack(">BI", 2, 1 << 30),
                frame("connect", field("version", b"\1")), frame("acknowledge", field("push", noise(16))),
                frame("hello", field("version", b"\1"), field("nonce", noise(32))),
            ][number % 6]
            try:
                device.socket.sendall(bytes_sent)
                while True:
                    kind, _ = device.read()
                    self.assertEqual(kind, "goAway")
            except (Closed, OSError):
                pass
        self.assertEqual(self.push().status, 200)
        self.device.wait(lambda: self.device.messages)

    def test_twice(self):
        """R5: A device's new connection replaces its older one, which is closed with a reason."""
        other = Device(self.gateway)
        other.key, other.id = self.device.key, self.device.id
        self.assertEqual(other.connect(), "connected")
        self.device.wait(lambda: self.device.ended)
        self.assertEqual(self.device.ended, "The device opened a new connection.")
        self.assertEqual(self.push().status, 200)
        other.wait(lambda: other.messages)
        other.disconnect()

    def test_slow(self):
        """R5: A device that does not acknowledge has few pushes in flight, and the other pushes are stored."""
        self.device.disconnect()
        topics = [f"org.example.Topic{number}" for number in range(100)]
        self.device.connect(acknowledges=False)
        provider, tokens = Provider(self.gateway), {}
        for topic in topics:
            self.gateway.admin("topic", "add", topic, "--team", "TEAM000001")
            tokens[topic] = self.device.register(topic)
        authorization = "bearer " + self.gateway.token()
        for topic in topics:
            answer = provider.push(tokens[topic], authorization=authorization, apns_topic=topic)
            self.assertEqual(answer.status, 200)
        self.device.ping()
        with self.device.changed:
            self.assertEqual(len(self.device.messages), 64)
            self.device.acknowledges = True
            on_the_way = [message["push"] for message in self.device.messages]
        for push in on_the_way:
            self.device.send("acknowledge", field("push", push))
        self.device.wait(lambda: len({message["topic"] for message in self.device.messages}) == 100)


if __name__ == "__main__":
    unittest.main(verbosity=2)
