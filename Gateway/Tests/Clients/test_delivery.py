"""Tests of the log, and of delivery from a provider to a device: direct, stored, held or sent along."""

import json
import os
import random
import subprocess
import threading
import time
import unittest
import uuid

from device import Device
from gateway import KEY, TEAM, TOPIC, Gateway
from provider import PAYLOAD, SILENT, Provider

BINARY = os.environ["NIGHTSHIFT_GATEWAY"]
NEWS = "org.example.News"
ACTIVE, IDLE, DOZING = 1, 2, 3
# The number of kills of the gateway in one run.
ROUNDS = int(os.environ.get("GATEWAY_CRASH_ROUNDS", "20"))
ENABLED, IGNORED, OPPORTUNISTIC, PAUSED = 1, 2, 3, 4


class Delivery(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(BINARY, "--log-payloads").__enter__()
        cls.gateway.admin("topic", "add", NEWS, "--team", TEAM)
        cls.provider = Provider(cls.gateway)
        cls.authorization = "bearer " + cls.gateway.token()

    @classmethod
    def tearDownClass(cls):
        cls.gateway.__exit__()

    def setUp(self):
        self.device = Device.new(self.gateway)
        self.token = self.device.register(TOPIC)

    def tearDown(self):
        self.device.disconnect()

    def push(self, body=PAYLOAD, token=None, **options):
        options.setdefault("apns_topic", TOPIC)
        answer = self.provider.push(token or self.token, body, authorization=self.authorization, **options)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.headers["apns-id"]

    def silent(self, **options):
        return self.push(SILENT, apns_push_type="background", apns_priority="5", **options)

    def alert(self, text, **options):
        return self.push(json.dumps({"aps": {"alert": text}}).encode(), **options)

    def ids(self):
        with self.device.changed:
            return [str(uuid.UUID(bytes=message["push"])) for message in self.device.messages]

    def arrives(self, push):
        self.device.wait(lambda: push in self.ids())

    def story(self, push, end):
        """Returns the log's events of a push once they contain `end`, which is written after the delivery."""
        while end not in (words := self.gateway.story(push)):
            time.sleep(0.02)
        return words

    def test_direct(self):
        """R5, B6: A connected device gets its push at once, and the gateway deletes the push when it is acknowledged."""
        push = self.alert("now")
        self.arrives(push)
        self.assertEqual(self.story(push, "delivered"), ["received", "delivered"])
        shown = self.gateway.admin("device", "show", str(uuid.UUID(bytes=self.device.id)))[0]
        self.assertEqual(shown["waiting"], [])
        self.assertTrue(shown["device"]["isConnected"])
        self.assertIn("now", self.gateway.admin("push", "show", push)[0]["payload"])

    def test_offline(self):
        """R5, B6: The latest push for a topic waits for its device. A push with one attempt does not."""
        self.device.disconnect()
        while self.gateway.admin("device", "show", str(uuid.UUID(bytes=self.device.id)))[0]["device"]["isConnected"]:
            time.sleep(0.02)
        first, once, second = self.alert("1"), self.alert("once", apns_expiration="0"), self.alert("2")
        expired = self.alert("late", apns_expiration=str(int(time.time()) - 5))
        self.assertEqual(self.device.connect(), "connected")
        self.arrives(second)
        self.device.ping()
        self.assertEqual(self.ids(), [second])
        self.assertEqual(
            self.story(second, "delivered-from-storage"), ["received", "stored-offline", "delivered-from-storage"])
        self.assertEqual(self.story(first, "discarded-replaced"), ["received", "stored-offline", "discarded-replaced"])
        self.assertEqual(self.gateway.story(once), ["received", "discarded-not-connected"])
        self.assertEqual(self.gateway.story(expired), ["received", "discarded-expired"])

    def test_silent(self):
        """R4, R5, B6: Two silent pushes pass, and the third is held and sent with the next alert."""
        passed = [self.silent(), self.silent()]
        for push in passed:
            self.arrives(push)
        held = self.silent()
        self.assertEqual(self.gateway.story(held), ["received", "held"])
        self.assertIn("rate limit", self.gateway.admin("push", "show", held)[1]["sentence"])
        alert = self.alert("x")
        self.arrives(alert)
        self.assertEqual(self.ids()[-2:], [held, alert])
        self.assertEqual(self.story(held, "delivered-from-storage"), ["received", "held", "rode-along", "delivered-from-storage"])
        self.assertEqual(self.gateway.admin("push", "show", held)[2]["detail"], alert)

    def test_keep_alive(self):
        """R5: A held push arrives before the answer to a keep-alive, and a newer one replaces it."""
        for push in [self.silent(), self.silent()]:
            self.arrives(push)
        older, newer = self.silent(), self.silent()
        self.device.ping()
        self.assertIn(newer, self.ids())
        self.assertNotIn(older, self.ids())
        self.assertIn("rode-along", self.story(newer, "delivered-from-storage"))
        self.assertEqual(self.story(older, "discarded-replaced")[-1], "discarded-replaced")

    def test_power(self):
        """R5, B6: Only priority 10 wakes a dozing device, and waiting pushes are sent along."""
        self.device.disconnect()
        self.assertEqual(self.device.connect(state=DOZING), "connected")
        later = self.alert("later", apns_priority="5")
        self.assertEqual(self.story(later, "stored-power"), ["received", "stored-power"])
        news = self.device.register(NEWS)
        urgent = self.alert("urgent", token=news, apns_topic=NEWS)
        self.arrives(urgent)
        self.arrives(later)
        self.assertEqual(self.ids(), [later, urgent])

    def test_filters(self):
        """R5: A topic can be ignored, paused or opportunistic."""
        self.device.disconnect()
        self.assertEqual(self.device.connect(topics=[(TOPIC, IGNORED)]), "connected")
        self.assertEqual(self.gateway.story(self.alert("x")), ["received", "discarded-disabled"])
        self.device.disconnect()
        self.assertEqual(self.device.connect(topics=[(TOPIC, OPPORTUNISTIC)]), "connected")
        waiting = self.alert("y")
        self.assertEqual(self.gateway.story(waiting), ["received", "stored-opportunistic"])
        self.device.ping()
        self.assertIn(waiting, self.ids())

    def test_follow(self):
        """B6: A follower of the log reads each entry as it is written."""
        follower = subprocess.Popen(
            [BINARY, "log", "--follow", "--count", "0", "--json", "--socket", self.gateway.path("state/admin.sock")],
            stdout=subprocess.PIPE, encoding="utf-8")
        # A push that came before the follower listened is not reported, so pushes are sent until one is.
        reader = threading.Thread(target=lambda: lines.append(json.loads(follower.stdout.readline())))
        lines, pushes = [], []
        reader.start()
        while reader.is_alive():
            pushes.append(self.alert("follow"))
            reader.join(0.1)
        self.assertIn(lines[0]["push"], pushes)
        follower.terminate()
        follower.wait()
        follower.stdout.close()
        self.device.ping()

    def test_crash(self):
        """R5: Every accepted push arrives, although the gateway and connections are killed at any time."""
        seed = int(os.environ.get("GATEWAY_CRASH_SEED", time.time_ns() % 1_000_000))
        chance = random.Random(seed)
        tokens = {TOPIC: self.token, NEWS: self.device.register(NEWS)}
        numbers, accepted, counts = (dict.fromkeys(tokens, 0) for _ in range(3))

        def send(topic):
            """Pushes until the gateway is gone. Each topic has only one such thread at a time."""
            try:
                provider = Provider(self.gateway)
                while not provider.is_closed:
                    numbers[topic] += 1
                    number = numbers[topic]
                    answer = provider.push(
                        tokens[topic], json.dumps({"aps": {"alert": number}}).encode(),
                        authorization=self.authorization, apns_topic=topic)
                    if answer.status == 200:
                        accepted[topic] = number
                        counts[topic] += 1
                    elif answer.status:
                        problems.append(answer.reason)
                provider.close()
            except OSError:
                pass

        problems = []
        for _ in range(ROUNDS):
            threads = [threading.Thread(target=send, args=(topic,)) for topic in tokens]
            for thread in threads:
                thread.start()
            time.sleep(chance.random() * 0.3)
            if chance.random() < 0.3:
                self.device.disconnect()
                time.sleep(chance.random() * 0.1)
            self.gateway.kill()
            for thread in threads:
                thread.join()
            self.gateway.start()
            self.assertEqual(self.device.connect(acknowledges=chance.random() < 0.7), "connected")
        self.assertEqual(self.device.connect(), "connected")
        self.assertEqual(problems, [], f"seed {seed}")
        self.assertGreater(sum(counts.values()), ROUNDS, f"seed {seed}")

        def newest(topic):
            return max((json.loads(message["payload"])["aps"]["alert"] for message in self.device.messages
                        if message["topic"].decode() == topic), default=0)

        # The device has the last push that got a 200, or a later one that replaced it.
        for topic, number in accepted.items():
            self.device.wait(lambda: newest(topic) >= number)
        print(f"\n    {ROUNDS} kills, {sum(counts.values())} pushes with a 200, "
              f"{len(set(self.ids()))} arrived, {len(self.ids()) - len(set(self.ids()))} of them twice; seed {seed}")
        type(self).provider = Provider(self.gateway)


if __name__ == "__main__":
    unittest.main(verbosity=2)
