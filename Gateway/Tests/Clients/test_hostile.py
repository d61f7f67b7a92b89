"""Tests of hostile devices and providers, which get no access and harm no others. Memory stays bounded."""

import json
import os
import random
import resource
import select
import socket
import struct
import subprocess
import time
import unittest

import hyperframe.frame

from device import Closed, Device, field, frame, noise
from gateway import OTHER_KEY, OTHER_TEAM, OTHER_TOPIC, TOPIC, Gateway
from provider import Provider

BINARY = os.environ["NIGHTSHIFT_GATEWAY"]
LOAD = os.environ.get("NIGHTSHIFT_GATEWAY_LOAD", os.path.join(os.path.dirname(BINARY), "gateway-load"))
ROUNDS = int(os.environ.get("GATEWAY_FUZZ_ROUNDS", "100"))
# 10,000 rounds take some minutes with a debug build.
IDLE = int(os.environ.get("GATEWAY_IDLE_DEVICES", "500"))
MEBIBYTE = 1 << 20
# This is more than the number of places that a gateway has for devices.
STRANGERS = 15_100


def mutated(chance, frames):
    """Returns the bytes of frames with a few errors."""
    frames = list(frames)
    for _ in range(chance.randrange(3)):
        index = chance.randrange(len(frames))
        frames.insert(chance.randrange(len(frames) + 1), frames[index] if chance.random() < 0.5 else frames.pop(index))
    data = bytearray(b"".join(frames))
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(data))
        kind = chance.randrange(5)
        if kind == 0:
            data[at] = chance.randrange(256)
        elif kind == 1:
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 2:
            del data[at:at + chance.randrange(1, 9)]
        elif kind == 3:
            data[at:at] = chance.randbytes(chance.randrange(1, 9))
        else:
            # Write a very large length.
            data[at:at + 4] = struct.pack(">I", chance.choice([0, 65_535, 65_536, 65_537, 1 << 31, (1 << 32) - 1]))
        if not data:
            return chance.randbytes(1)
    return bytes(data)


class Hostile(unittest.TestCase):
    def setUp(self):
        self.gateway = Gateway(BINARY, "--request-rate", "1000000").__enter__()
        self.victim = Device.new(self.gateway)
        self.token = self.victim.register(TOPIC)
        self.authorization = "bearer " + self.gateway.token()
        self.memory = self.resident()

    def tearDown(self):
        self.victim.disconnect()
        self.gateway.__exit__()

    def resident(self):
        with open(f"/proc/{self.gateway.process.pid}/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    def check_alive(self, growth):
        """Checks that only the test's device is connected, that a push reaches it, and that memory is within the limit."""
        while self.gateway.admin("status")[0]["deviceConnections"] != 1:
            time.sleep(0.05)
        before = len(self.victim.messages)
        answer = Provider(self.gateway).push(self.token, authorization=self.authorization, apns_topic=TOPIC)
        self.assertEqual(answer.status, 200)
        self.victim.wait(lambda: len(self.victim.messages) > before)
        self.assertLess(self.resident() - self.memory, growth)

    def read_out(self, device):
        """Returns the gateway's bytes until it closes the connection or is silent for a while."""
        kinds = []
        try:
            while device.socket.pending() or select.select([device.socket], [], [], 0.3)[0]:
                kinds.append(device.read()[0])
        except (Closed, OSError):
            pass
        return kinds

    def test_fuzzed_strangers(self):
        """R5: Invalid frames of a client without a key do not give access."""
        seed = int(os.environ.get("NIGHTSHIFT_SEED", random.randrange(1 << 30)))
        chance = random.Random(seed)
        for _ in range(ROUNDS):
            device = Device(self.gateway)
            device.open()
            device.id = self.victim.id
            signature = device.key.sign(b"nightshift push connect 1\0" + device.id + device.nonce)
            connect = frame(
                "connect", field("version", b"\1"), field("device", device.id), field("signature", signature),
                field("keepAlive", struct.pack(">I", 60)), field("state", b"\1"),
                field("choice", b"\1" + TOPIC.encode()))
            enrol = frame("enrol", field("code", b"x" * 32), field("key", noise(32)), field("name", b"x"))
            register = frame("register", field("request", b"\0\0\0\1"), field("topic", TOPIC.encode()))
            try:
                device.socket.sendall(mutated(chance, chance.choice([[connect], [enrol], [enrol, connect, register]])))
            except OSError:
                pass
            for kind in self.read_out(device):
                self.assertEqual(kind, "goAway", f"seed {seed}")
            device.socket.close()
        self.check_alive(growth=32 * MEBIBYTE)

    def test_fuzzed_devices(self):
        """R5: Invalid frames of an authenticated device harm only that device."""
        seed = int(os.environ.get("NIGHTSHIFT_SEED", random.randrange(1 << 30)))
        chance = random.Random(seed)
        device = Device(self.gateway)
        self.assertEqual(device.enrol(self.gateway.enrolment_code()), "enrolled")
        topic = field("topic", TOPIC.encode())
        valid = [
            frame("ping", field("keepAlive", struct.pack(">I", 60))), frame("state", field("state", b"\2")),
            frame("topics", field("choice", b"\2" + TOPIC.encode()), field("choice", b"\4" + OTHER_TOPIC.encode())),
            frame("acknowledge", field("push", noise(16))),
            frame("register", field("request", b"\0\0\0\1"), topic, field("fresh", b"\1")),
            frame("unregister", field("request", b"\0\0\0\2"), topic),
            frame("goAway", field("refusal", b"\1"), field("text", b"x"), field("retryAfter", b"\0\0\0\0")),
            frame("hello", field("version", b"\1"), field("nonce", noise(32))),
        ]
        for _ in range(ROUNDS):
            device.open()
            signature = device.key.sign(b"nightshift push connect 1\0" + device.id + device.nonce)
            device.send(
                "connect", field("version", b"\1"), field("device", device.id), field("signature", signature),
                field("keepAlive", struct.pack(">I", 60)), field("state", b"\1"))
            self.assertEqual(device.read()[0], "connected", f"seed {seed}")
            try:
                device.socket.sendall(mutated(chance, chance.sample(valid, chance.randrange(1, len(valid)))))
            except OSError:
                pass
            for kind in self.read_out(device):
                self.assertIn(kind, ("goAway", "pong", "registered", "unregistered", "refused"), f"seed {seed}")
            device.socket.close()
        self.check_alive(growth=32 * MEBIBYTE)

    def test_replay(self):
        """R5: A replayed handshake is refused."""
        device = Device(self.gateway)
        self.assertEqual(device.enrol(self.gateway.enrolment_code()), "enrolled")
        device.open()
        signature = device.key.sign(b"nightshift push connect 1\0" + device.id + device.nonce)
        recorded = frame(
            "connect", field("version", b"\1"), field("device", device.id), field("signature", signature),
            field("keepAlive", struct.pack(">I", 60)), field("state", b"\1"))
        device.socket.sendall(recorded)
        self.assertEqual(device.read()[0], "connected")
        device.socket.close()
        device.open()
        device.socket.sendall(recorded)
        self.assertEqual(device.read()[0], "goAway")
        device.socket.close()
        self.check_alive(growth=32 * MEBIBYTE)

    def test_names(self):
        """R5: Control characters in a device's name have no effect on a terminal that lists the devices."""
        name = "a\x1b]0;b\x07\nc\x9b\u202e\u2028"
        device = Device(self.gateway)
        self.assertEqual(device.enrol(self.gateway.enrolment_code(), name), "enrolled")
        self.assertIn(name, [row["name"] for row in self.gateway.admin("device", "list")[0]])
        socket_path = self.gateway.path("state/admin.sock")
        for words in (["device", "list"], ["device", "show", uuid_of(device.id)]):
            result = subprocess.run([BINARY, *words, "--socket", socket_path], capture_output=True, check=True)
            lines = [line for line in result.stdout.decode().split("\n") if uuid_of(device.id) in line]
            self.assertEqual(len(lines), 1)
            self.assertIn("a\\u{1b}]0;b\\u{7}\\u{a}c\\u{9b}\\u{202e}\\u{2028}  seen", lines[0])

    def test_another(self):
        """R5: A device cannot read, end or acknowledge pushes and tokens of another device."""
        provider = Provider(self.gateway)
        self.victim.disconnect()
        answer = provider.push(self.token, authorization=self.authorization, apns_topic=TOPIC)
        push = answer.headers["apns-id"]
        thief = Device.new(self.gateway)
        self.assertNotEqual(thief.register(TOPIC), self.token)
        self.assertNotEqual(thief.register(TOPIC, fresh=True), self.token)
        thief.send("acknowledge", field("push", bytes.fromhex(push.replace("-", ""))))
        self.assertEqual(thief.ask("unregister", TOPIC)[0], "unregistered")
        thief.ping()
        self.assertEqual(thief.messages, [])
        thief.disconnect()
        self.assertEqual(
            [row["token"] for row in self.gateway.admin("device", "show", uuid_of(self.victim.id))[0]["tokens"]],
            [self.token])
        self.assertEqual(self.victim.connect(), "connected")
        self.victim.wait(lambda: self.victim.messages)
        self.check_alive(growth=32 * MEBIBYTE)

    def test_other_team(self):
        """R5: A provider of another team cannot send to a known token, whatever topic it names."""
        authorization = "bearer " + self.gateway.token(OTHER_KEY, OTHER_TEAM)
        for topic, reason in ((TOPIC, "TopicDisallowed"), (OTHER_TOPIC, "DeviceTokenNotForTopic")):
            answer = Provider(self.gateway).push(self.token, authorization=authorization, apns_topic=topic)
            self.assertEqual((answer.status, answer.reason), (400, reason))
        # A provider's key does not let it claim the other team.
        forged = "bearer " + self.gateway.token(OTHER_KEY, "TEAM000001")
        answer = Provider(self.gateway).push(self.token, authorization=forged, apns_topic=TOPIC)
        self.assertEqual((answer.status, answer.reason), (403, "InvalidProviderToken"))
        self.assertEqual(self.victim.messages, [])
        self.check_alive(growth=32 * MEBIBYTE)

    def test_device_that_does_not_read(self):
        """R5: The gateway stops reading from a device that sends requests and never reads."""
        device = Device(self.gateway)
        self.assertEqual(device.enrol(self.gateway.enrolment_code()), "enrolled")
        device.open()
        signature = device.key.sign(b"nightshift push connect 1\0" + device.id + device.nonce)
        device.send(
            "connect", field("version", b"\1"), field("device", device.id), field("signature", signature),
            field("keepAlive", struct.pack(">I", 60)), field("state", b"\1"))
        self.assertEqual(device.read()[0], "connected")
        self.flood(device.socket, frame("ping", field("keepAlive", struct.pack(">I", 60))) * 1_000)
        device.socket.close()
        self.check_alive(growth=48 * MEBIBYTE)

    def test_provider_that_does_not_read(self):
        """R5: The gateway stops reading from a provider that sends requests and never reads."""
        provider = Provider(self.gateway)
        answer = provider.push(self.token, authorization=self.authorization, apns_topic=TOPIC)
        self.assertEqual(answer.status, 200)
        # The library would stop at the limit of open streams, so the test builds the frames itself.
        block = provider.h2.encoder.encode([(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "x")])
        stream = provider.h2.get_next_available_stream_id()

        def requests():
            nonlocal stream
            data = b""
            for _ in range(500):
                head = hyperframe.frame.HeadersFrame(stream, data=block)
                head.flags |= {"END_HEADERS", "END_STREAM"}
                data += head.serialize()
                stream += 2
            return data

        self.flood(provider.socket, requests)
        provider.close()
        self.check_alive(growth=48 * MEBIBYTE)

    def test_pipelined(self):
        """R5: Requests of an unauthenticated client in one packet are answered one by one, until it has too many errors."""
        missing = b"This endpoint does not exist."
        for _ in range(20):
            connection = stranger(self.gateway)
            # A large body makes the gateway use large reads from then on.
            connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + b"x" * 100_000)
            answers = b""
            while not answers.endswith(missing):
                piece = connection.recv(65536)
                self.assertTrue(piece, answers)
                answers += piece
            try:
                # The first request needs a read of the store, so the others arrive before its response.
                connection.sendall(b"GET /up/x HTTP/1.1\r\nHost: x\r\n\r\n" + b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 3_600)
                while piece := connection.recv(65536):
                    answers += piece
            except OSError:
                pass
            connection.close()
            self.assertIsNone(self.gateway.process.poll(), "the gateway is gone")
            self.assertLessEqual(answers.count(b"HTTP/1.1 404"), 200)
        self.assertEqual(self.gateway.status("/healthz"), "ok\n")
        self.check_alive(growth=32 * MEBIBYTE)

    def test_places(self):
        """R5: Unauthenticated connections on all provider places neither block nor displace authenticated providers."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))

        def push(provider):
            return provider.push(self.token, authorization=self.authorization, apns_topic=TOPIC).status

        known = Provider(self.gateway)
        self.assertEqual(push(known), 200)
        strangers = []
        try:
            for _ in range(1_100):
                strangers.append(socket.create_connection(("127.0.0.1", self.gateway.port)))
            newcomer = Provider(self.gateway)
            self.assertEqual(push(newcomer), 200)
            self.assertEqual(push(known), 200)
        finally:
            for connection in strangers:
                connection.close()

    def test_places_of_devices(self):
        """R5: Unauthenticated connections on all device places do not block devices, and their memory is released."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < STRANGERS + 1_000:
            self.skipTest(f"this needs {STRANGERS + 1_000} descriptors: ulimit -Hn")
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        strangers = []
        try:
            for number in range(STRANGERS):
                strangers.append(socket.create_connection(("127.0.0.1", self.gateway.device_port)))
                # The device in this file treats a minute of silence as the end.
                if number % 500 == 0:
                    self.victim.ping()
            newcomer = Device.new(self.gateway)
            for device in (newcomer, self.victim):
                device.ping()
                self.assertIsNone(device.ended)
            newcomer.disconnect()
        finally:
            for connection in strangers:
                connection.close()
        # The gateway releases memory once a minute.
        limit = time.monotonic() + 600
        while self.resident() - self.memory >= 48 * MEBIBYTE and time.monotonic() < limit:
            self.victim.ping()
            time.sleep(0.5)
        self.check_alive(growth=48 * MEBIBYTE)

    def flood(self, connection, data):
        """Sends until the peer no longer reads, the peer closes the connection, or far too much was sent."""
        connection.settimeout(3)
        sent = 0
        try:
            while sent < 64 * MEBIBYTE:
                piece = data() if callable(data) else data
                connection.sendall(piece)
                sent += len(piece)
        except OSError:
            pass
        self.assertLess(sent, 64 * MEBIBYTE, "everything was taken")

    @unittest.skipUnless(os.path.exists(LOAD), "gateway-load is not built")
    def test_idle(self):
        """R5, B7: Very many idle devices stay connected, get pushes, and need little memory each."""
        result = subprocess.run(
            [LOAD, "--devices", str(IDLE), "--port", str(self.gateway.device_port), "--socket",
             self.gateway.path("state/admin.sock"), "--authority", self.gateway.path("authority.pem"), "--gateway",
             str(self.gateway.process.pid), "--parallel", "32", "--hold", "5", "--storm", str(IDLE // 2)],
            capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual((report["enrolment"]["failures"], report["connection"]["failures"], report["lost"]), (0, 0, 0))
        self.assertLess(report["memory"]["perConnection"], 64 * 1024)
        print(f"\n    {report['memory']['perConnection'] / 1000:.1f} kB for each of {IDLE} idle devices, "
              f"half of them back {report['storm']['seconds']:.1f} s after a cut", end=" ")
        self.check_alive(growth=IDLE * 64 * 1024 + 32 * MEBIBYTE)


class Slow(unittest.TestCase):
    def test_bodies(self):
        """R5: A request that arrives byte by byte is ended, over either version of HTTP, and its place is freed."""
        with Gateway(BINARY, "--body-timeout", "1") as gateway:
            connection = stranger(gateway)
            connection.settimeout(0.5)
            connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200\r\n\r\n")
            answer, began = b"", time.monotonic()
            while time.monotonic() < began + 60:
                try:
                    connection.sendall(b"x")
                    piece = connection.recv(1024)
                    answer += piece
                    if not piece:
                        break
                except TimeoutError:
                    pass
                except OSError:
                    break
            self.assertLess(time.monotonic(), began + 60)
            self.assertTrue(answer.startswith(b"HTTP/1.1 408"), answer)
            connection.close()
            provider = Provider(gateway)
            provider.socket.settimeout(0.5)
            stream = provider.begin("0" * 64, b"x", ends=False, authorization="bearer x", apns_topic=TOPIC)
            began = time.monotonic()
            while stream not in provider.resets and time.monotonic() < began + 60:
                try:
                    if not provider.answers[stream].is_complete:
                        provider.h2.send_data(stream, b"x")
                        provider.flush()
                    provider.read()
                except TimeoutError:
                    pass
            self.assertIn(stream, provider.resets)
            self.assertEqual(provider.answers[stream].reason, "IdleTimeout")
            provider.close()

    def test_stop(self):
        """R5: A gateway that shuts down does not wait for a stalled request."""
        with Gateway(BINARY) as gateway:
            connection = stranger(gateway)
            connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200\r\nExpect: 100-continue\r\n\r\n")
            self.assertIn(b"100 Continue", connection.recv(1024))
            gateway.process.terminate()
            self.assertEqual(gateway.process.wait(timeout=60), 0)
            connection.close()


def stranger(gateway):
    """Opens a connection on which nothing has been sent."""
    plain = socket.create_connection(("127.0.0.1", gateway.port))
    plain.settimeout(60)
    return gateway.trust(alpn=("http/1.1",)).wrap_socket(plain, server_hostname="localhost")


def uuid_of(identifier):
    text = identifier.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
