"""Tests of UnifiedPush endpoints: senders over HTTP/1.1 and HTTP/2, storage for a disconnected device, and kill -9."""

import http.client
import json
import os
import random
import socket
import time
import unittest
import uuid

from device import Device
from gateway import TOPIC, Gateway
from provider import PAYLOAD, Provider

BINARY = os.environ["NIGHTSHIFT_GATEWAY"]
ROUNDS = int(os.environ.get("GATEWAY_CRASH_ROUNDS", "20"))
ACTIVE, IDLE, DOZING = 1, 2, 3
DAY = 86400


def topic():
    return "unifiedpush:" + os.urandom(16).hex()


class Sender:
    """A sender that uses Python's own HTTP/1.1."""

    def __init__(self, gateway, alpn=("http/1.1",)):
        self.gateway = gateway
        self.alpn = alpn
        self.connection = None

    def ask(self, method, path, body=None, **headers):
        if self.connection is None:
            self.connection = http.client.HTTPSConnection(
                "localhost", self.gateway.port, context=self.gateway.trust(alpn=self.alpn), timeout=60)
        try:
            self.connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = self.connection.getresponse()
            answer.text = answer.read().decode()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        if answer.will_close:
            self.close()
        return answer

    def push(self, token, body=b"x", TTL="60", **headers):
        if TTL is not None:
            headers["TTL"] = TTL
        return self.ask("POST", "/up/" + token, body, **headers)

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


class Endpoints(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(BINARY, "--public-url", "https://push.example.org/", "--log-payloads").__enter__()
        cls.sender = Sender(cls.gateway)

    @classmethod
    def tearDownClass(cls):
        cls.sender.close()
        cls.gateway.__exit__()

    def setUp(self):
        self.device = Device.new(self.gateway)
        self.topic = topic()
        self.token = self.device.register(self.topic)

    def tearDown(self):
        self.device.disconnect()

    def accepted(self, body, token=None, **headers):
        answer = self.sender.push(token or self.token, body, **headers)
        self.assertEqual(answer.status, 201, answer.text)
        return answer.headers["Location"].rsplit("/", 1)[1]

    def bodies(self):
        with self.device.changed:
            return [message["payload"] for message in self.device.messages]

    def test_registration(self):
        """R5, B7: A device registers without a team, and receives the base URL of its endpoints."""
        self.assertRegex(self.token, "^[0-9a-f]{64}$")
        self.assertEqual(self.device.endpoints, "https://push.example.org")
        self.assertEqual(self.device.register(self.topic), self.token)
        self.assertNotEqual(self.device.register(self.topic, fresh=True), self.token)
        for wrong in ("unifiedpush:", "unifiedpush:" + "0" * 31, "unifiedpush:" + "0" * 33, "unifiedpush:" + "G" * 32,
                      "unifiedpush:" + "A" * 32, "UnifiedPush:" + "0" * 32, "org.example.Nobody"):
            self.assertEqual(self.device.register(wrong), "refused", wrong)

    def test_untouched(self):
        """R5, B7: A message is delivered unchanged, over either version of HTTP, whatever ALPN negotiated."""
        body = bytes(range(256)) * 16
        answer = self.sender.push(self.token, body, Content_Encoding="aes128gcm", Authorization="vapid t=x, k=y")
        self.assertEqual((answer.status, answer.headers["TTL"], answer.text), (201, "60", ""))
        location = answer.headers["Location"]
        self.assertTrue(location.startswith(f"https://push.example.org/up/{self.token}/"), location)
        silent = Sender(self.gateway, alpn=None)
        self.assertEqual(silent.push(self.token, b"\0").status, 201)
        silent.close()
        provider = Provider(self.gateway)
        answer = provider.push(None, b"\xff\xfe", path="/up/" + self.token, ttl="60")
        self.assertEqual(answer.status, 201, answer.body)
        self.assertEqual(answer.headers["ttl"], "60")
        provider.close()
        self.device.wait(lambda: len(self.device.messages) == 3)
        self.assertEqual(self.bodies(), [body, b"\0", b"\xff\xfe"])
        message = self.device.messages[0]
        self.assertEqual(message["topic"].decode(), self.topic)
        self.assertEqual(message["type"], b"\x0c")
        self.assertEqual(str(uuid.UUID(bytes=message["push"])), location.rsplit("/", 1)[1])

    def test_host(self):
        """R5, B7: An HTTP/1.1 request needs exactly one Host field, and may have an absolute URL in its first line."""
        def ask(lines):
            plain = socket.create_connection(("127.0.0.1", self.gateway.port))
            plain.settimeout(60)
            with self.gateway.trust(alpn=("http/1.1",)).wrap_socket(plain, server_hostname="localhost") as connection:
                connection.sendall(b"\r\n".join(lines) + b"\r\nConnection: close\r\n\r\n")
                return connection.makefile("rb").read().split(b" ")[1]

        path = b"/up/" + self.token.encode()
        self.assertEqual(ask([b"GET " + path + b" HTTP/1.1", b"Host: x"]), b"200")
        self.assertEqual(ask([b"GET https://push.example.org" + path + b" HTTP/1.1", b"Host: push.example.org"]), b"200")
        self.assertEqual(ask([b"GET " + path + b" HTTP/1.0"]), b"200")
        self.assertEqual(ask([b"GET " + path + b" HTTP/1.1"]), b"400")
        self.assertEqual(ask([b"GET " + path + b" HTTP/1.1", b"Host: x", b"Host: x"]), b"400")

    def test_rules(self):
        """R5, B7: TTL, Urgency, Topic and sizes follow RFC 8030 and UnifiedPush."""
        good, bad = 201, 400
        table = [
            (dict(TTL=None), bad), (dict(TTL=""), bad), (dict(TTL="-1"), bad), (dict(TTL="1.5"), bad), (dict(TTL="x"), bad),
            (dict(TTL="0"), good), (dict(TTL="1"), good), (dict(TTL=str(30 * DAY + 1)), good), (dict(TTL="9" * 40), good),
            (dict(Urgency="very-low"), good), (dict(Urgency="low"), good), (dict(Urgency="normal"), good),
            (dict(Urgency="high"), good), (dict(Urgency="urgent"), bad), (dict(Urgency=""), bad),
            (dict(Topic="a"), good), (dict(Topic="-_aZ09" + "x" * 26), good), (dict(Topic="x" * 33), bad),
            (dict(Topic=""), bad), (dict(Topic="a.b"), bad), (dict(Topic="a=b"), bad), (dict(Topic="ä"), bad),
            (dict(Content_Encoding="aes128gcm"), good), (dict(Content_Encoding="AES128GCM"), good),
            (dict(Content_Encoding="aesgcm"), 415), (dict(Content_Encoding="gzip"), 415),
            (dict(body=b""), bad), (dict(body=b"x"), good), (dict(body=b"x" * 4096), good), (dict(body=b"x" * 4097), 413),
            (dict(body=b"x" * 100_000), 413),
        ]
        for options, status in table:
            answer = self.sender.push(self.token, **options)
            self.assertEqual(answer.status, status, (options.keys(), answer.text))
            if status == good:
                asked = min(int(options.get("TTL", "60")), 30 * DAY)
                self.assertEqual(answer.headers["TTL"], str(asked), options)
            else:
                self.assertTrue(answer.text)
        # An endless body is not read completely.
        try:
            answer = self.sender.push(self.token, b"x" * 10_000_000)
            self.assertEqual(answer.status, 413)
        except OSError:
            pass

    def test_paths(self):
        """R5, B7: Discovery works, and unknown endpoints, ended endpoints, wrong methods and other tokens are refused."""
        answer = self.sender.ask("GET", "/up/" + self.token)
        self.assertEqual((answer.status, json.loads(answer.text)), (200, {"unifiedpush": {"version": 1}}))
        self.assertEqual(self.sender.ask("HEAD", "/up/" + self.token).status, 200)
        self.assertEqual(self.sender.ask("PUT", "/up/" + self.token, b"x").status, 405)
        unknown = "0" * 64
        for path in ("/up/" + unknown, "/up/", "/up", "/", "/up/" + self.token + "/x/y", "/up/" + self.token + "/x",
                     "/up/" + "0" * 200, "/3/device/" + self.token):
            self.assertEqual(self.sender.ask("POST", path, b"x", TTL="5").status, 404, path)
        self.assertEqual(self.sender.push(self.device.register(TOPIC)).status, 404, "an app's token")
        # The API of APNs cannot reach an endpoint either.
        provider = Provider(self.gateway)
        # A provider may not change its token often, so one token is used.
        authorization = "bearer " + self.gateway.token()
        pushed = provider.push(
            self.token, PAYLOAD, authorization=authorization, apns_topic=TOPIC)
        self.assertEqual((pushed.status, pushed.reason), (400, "DeviceTokenNotForTopic"))
        for name in (self.topic, "unifiedpush"):
            pushed = provider.push(
                self.token, PAYLOAD, authorization=authorization, apns_topic=name)
            self.assertEqual(pushed.status, 400, pushed.reason)
        pushed = provider.push(
            self.token, PAYLOAD, authorization=authorization, apns_topic=TOPIC,
            apns_push_type="unifiedpush")
        self.assertEqual(pushed.reason, "InvalidPushType")
        provider.close()
        fresh = self.device.register(self.topic, fresh=True)
        self.assertEqual(self.sender.push(self.token).status, 410)
        self.assertEqual(self.sender.push(fresh).status, 201)
        self.device.ask("unregister", self.topic)
        self.assertEqual(self.sender.push(fresh).status, 410)
        self.assertEqual(self.sender.ask("GET", "/up/" + fresh).status, 410)

    def test_kept(self):
        """R5, B7: Messages are kept in order for a disconnected device, and one with a topic replaces the last."""
        self.device.disconnect()
        self.accepted(b"0")
        old = self.accepted(b"old", Topic="news")
        self.accepted(b"1")
        new = self.accepted(b"new", Topic="news")
        self.accepted(b"2")
        back = self.accepted(b"taken back")
        path = f"/up/{self.token}/{back}"
        self.assertEqual(self.sender.ask("DELETE", path).status, 204)
        self.assertEqual(self.sender.ask("DELETE", path).status, 404)
        lost = self.accepted(b"one attempt", TTL="0")
        self.assertEqual(self.device.connect(), "connected")
        self.device.wait(lambda: len(self.device.messages) >= 4)
        self.device.ping()
        self.assertEqual(self.bodies(), [b"0", b"1", b"new", b"2"])
        self.assertEqual(self.gateway.story(old)[-1], "discarded-replaced")
        self.assertEqual(self.gateway.story(back)[-1], "discarded-withdrawn")
        self.assertEqual(self.gateway.story(lost)[-1], "discarded-not-connected")
        self.assertEqual(self.gateway.story(new)[-1], "delivered-from-storage")

    def test_room(self):
        """R5, B7: A registration keeps its newest messages, at most 100 and 400 KiB, and the log shows removals."""
        self.device.disconnect()
        ids = [self.accepted(b"%d" % number) for number in range(103)]
        self.assertEqual(self.gateway.story(ids[0])[-1], "discarded-evicted")
        self.assertEqual(self.gateway.story(ids[3])[-1], "stored-offline")
        other = self.device_topic()
        large = [self.accepted(bytes([number]) * 4096, token=other) for number in range(101)]
        self.assertEqual(self.gateway.story(large[0])[-1], "discarded-evicted")
        self.assertEqual(self.gateway.story(large[1])[-1], "stored-offline")
        self.assertEqual(self.device.connect(), "connected")
        self.device.wait(lambda: len(self.device.messages) >= 200)
        self.device.ping()
        small = [body for body in self.bodies() if len(body) < 4096]
        self.assertEqual(small, [b"%d" % number for number in range(3, 103)])
        self.assertEqual(len(self.bodies()), 200)

    def device_topic(self):
        self.device.connect()
        token = self.device.register(topic())
        self.device.disconnect()
        return token

    def test_urgency(self):
        """R5, B7: A dozing device gets urgent messages and earlier ones at once, and others with the next exchange."""
        self.device.disconnect()
        self.device.connect(state=DOZING)
        self.accepted(b"low", Urgency="low")
        waits = self.accepted(b"normal")
        self.assertEqual(self.gateway.story(waits)[-1], "stored-power")
        self.accepted(b"high", Urgency="high")
        self.device.wait(lambda: len(self.device.messages) == 3)
        self.assertEqual(self.bodies(), [b"low", b"normal", b"high"])
        self.accepted(b"later", Urgency="very-low")
        self.device.ping()
        self.assertEqual(self.bodies()[3:], [b"later"])

    def test_expiry(self):
        """R5, B7: An expired message is not sent."""
        self.device.disconnect()
        self.accepted(b"long")
        short = self.accepted(b"short", TTL="1")
        time.sleep(2.1)
        self.device.connect()
        self.device.wait(lambda: self.device.messages)
        self.device.ping()
        self.assertEqual(self.bodies(), [b"long"])
        self.assertEqual(self.gateway.story(short)[-1], "discarded-expired")


class Bounds(unittest.TestCase):
    def test_rate(self):
        """R5, B7: A sender above the rate limit gets the time of its next attempt."""
        with Gateway(BINARY, "--endpoint-rate", "0.05", "--public-url", "http://127.0.0.1:1") as gateway:
            device = Device.new(gateway)
            token = device.register(topic())
            sender = Sender(gateway)
            statuses = [sender.push(token).status for _ in range(5)]
            self.assertEqual(statuses, [201] * 5)
            answer = sender.push(token)
            self.assertEqual(answer.status, 429)
            self.assertIn(int(answer.headers["Retry-After"]), range(1, 21))
            self.assertEqual(sender.push(device.register(topic())).status, 201, "another endpoint")
            sender.close()
            device.disconnect()

    def test_rate_of_withdrawals(self):
        """R5, B7: Deletions have the same rate limit as messages, so that no sender can overload the storage."""
        with Gateway(BINARY, "--endpoint-rate", "0.05") as gateway:
            device = Device.new(gateway)
            token = device.register(topic())
            sender = Sender(gateway)
            answers = [sender.ask("DELETE", f"/up/{token}/{uuid.uuid4()}") for _ in range(10)]
            self.assertEqual([answer.status for answer in answers[:5]], [404] * 5)
            self.assertIn(429, [answer.status for answer in answers])
            sender.close()
            device.disconnect()

    def test_default_url(self):
        """R5, B7: Without a public URL, endpoints begin with the gateway's name and its providers' port."""
        with Gateway(BINARY) as gateway:
            device = Device.new(gateway)
            self.assertEqual(device.endpoints, f"https://localhost:{gateway.port}")
            device.disconnect()

    def test_wrong_url(self):
        """R5: An invalid public URL is refused before the gateway starts."""
        for url in ("push.example.org", "ftp://x", "https://", "https://x?y", "https://x y"):
            with self.assertRaises(RuntimeError, msg=url):
                Gateway(BINARY, "--public-url", url).start()

    def test_kills(self):
        """R5, B7: Every message answered with 201 reaches the device, in order, although the gateway is killed."""
        seed = int(os.environ.get("NIGHTSHIFT_SEED", random.randrange(1 << 30)))
        chance = random.Random(seed)
        with Gateway(BINARY, "--endpoint-rate", "1000") as gateway:
            device = Device.new(gateway)
            token = device.register(topic())
            sender = Sender(gateway)
            accepted, number = [], 0
            for _ in range(ROUNDS):
                if chance.random() < 0.5:
                    device.disconnect()
                for _ in range(chance.randrange(1, 20)):
                    number += 1
                    if sender.push(token, b"%d" % number, TTL="600").status == 201:
                        accepted.append(number)
                gateway.kill()
                gateway.start()
                sender.close()
                device.connect()
                device.wait(lambda: accepted[-1] in [int(body) for body in device.payloads()])
            got = [int(body) for body in device.payloads()]
            first = list(dict.fromkeys(got))
            self.assertEqual(first, accepted, f"seed {seed}")
            sender.close()
            device.disconnect()
        print(f"seed {seed}: {len(accepted)} messages, {len(got) - len(first)} twice", end=" ", flush=True)


if __name__ == "__main__":
    unittest.main()
