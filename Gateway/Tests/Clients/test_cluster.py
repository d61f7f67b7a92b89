"""Tests of several gateways over several NATS servers. No accepted push is lost, whichever process is killed."""

import http.client
import json
import os
import random
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import uuid

from device import Device
from gateway import TEAM, TOPIC, Gateway, pem
from provider import Provider
from test_endpoints import Sender as EndpointSender
from test_endpoints import topic as endpoint_topic

BINARY = os.environ["NIGHTSHIFT_GATEWAY"]
# The number of kills in one run.
ROUNDS = int(os.environ.get("GATEWAY_CLUSTER_ROUNDS", "4"))
SEED = int(os.environ.get("GATEWAY_CLUSTER_SEED", str(random.randrange(1 << 32))))
DEVICES = 6
TOPICS = [TOPIC, "org.example.News", "org.example.Chat"]
# The number of seconds within which servers find each other, and gateways read missed changes.
PATIENCE = 120


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for each in held:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


class Servers:
    """NATS servers on loopback. Each can be killed and restarted with its data."""

    def __init__(self, count):
        self.program = shutil.which("nats-server", path=os.environ["PATH"] + ":/usr/sbin")
        assert self.program, "nats-server is missing: scripts/packages.sh gateway installs it"
        self.folder = tempfile.mkdtemp(prefix="nightshift-nats-")
        ports = free_ports(2 * count)
        self.ports, self.routes = ports[:count], ports[count:]
        self.processes = [None] * count
        for number in range(count):
            self.start(number)

    @property
    def urls(self):
        return ",".join(f"nats://127.0.0.1:{port}" for port in self.ports)

    def start(self, number):
        routes = ",".join(f"nats://127.0.0.1:{port}" for port in self.routes)
        with open(os.path.join(self.folder, f"log{number}"), "ab") as log:
            self.processes[number] = subprocess.Popen(
                [self.program, "-js", "-a", "127.0.0.1", "-p", str(self.ports[number]), "-n", f"n{number}",
                 "-sd", os.path.join(self.folder, str(number)), "--cluster_name", "test",
                 "--cluster", f"nats://127.0.0.1:{self.routes[number]}", "--routes", routes], stderr=log)

    def kill(self, number):
        self.processes[number].kill()
        self.processes[number].wait()

    def close(self):
        for number in range(len(self.processes)):
            self.kill(number)
        shutil.rmtree(self.folder)


class Node(Gateway):
    """A gateway without local state. All gateways share one certificate authority and one set of keys."""

    def __init__(self, binary, first, *options):
        super().__init__(binary, *options)
        if first:
            self.keys = first.keys
            self.authority_key, self.authority = first.authority_key, first.authority
            shutil.copy(first.path("authority.pem"), self.path("authority.pem"))
            self.renew_certificate()


def until(condition, what, patience=PATIENCE):
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(what)
        time.sleep(0.05)


class Sender(threading.Thread):
    """A provider that sends continuously to one topic of one device, through any gateway that answers."""

    def __init__(self, test, device, topic):
        super().__init__(daemon=True)
        self.test, self.device, self.topic = test, device, topic
        self.number = 0
        # The pushes answered with 200, in order. Then those with another answer or none, which may also arrive.
        self.accepted, self.unknown = [], 0
        self.stops = False

    def run(self):
        provider = authorization = None
        while not self.stops:
            try:
                if provider is None:
                    node = random.choice(self.test.nodes)
                    provider, authorization = Provider(node), "bearer " + node.token()
                self.number += 1
                body = json.dumps({"aps": {"alert": "x"}, "n": self.number}).encode()
                answer = provider.push(
                    self.device.tokens[self.topic], body, apns_topic=self.topic, authorization=authorization)
                if answer.status == 200:
                    self.accepted.append(self.number)
                    continue
                self.unknown += 1
                if answer.status not in (0, 500, 503):
                    self.test.faults.append((answer.status, answer.body))
                time.sleep(0.1)
            except (OSError, RuntimeError):
                self.unknown += 1
                time.sleep(0.1)
            provider = None


class MessageSender(threading.Thread):
    """A sender of UnifiedPush that sends continuously to one endpoint, through any gateway that answers."""

    # The seconds between two messages. In half a minute, fewer messages come than the gateway keeps.
    PAUSE = 0.3

    def __init__(self, test, device):
        super().__init__(daemon=True)
        self.test, self.device = test, device
        self.topic = endpoint_topic()
        self.token = device.register(self.topic)
        self.accepted, self.unknown = [], 0
        self.stops = False

    def run(self):
        sender, number = None, 0
        while not self.stops:
            number += 1
            try:
                sender = sender or EndpointSender(random.choice(self.test.nodes))
                answer = sender.push(self.token, b"%d" % number, TTL="3600")
                if answer.status == 201:
                    self.accepted.append(number)
                    time.sleep(self.PAUSE)
                    continue
                if answer.status not in (500, 503):
                    self.test.faults.append((answer.status, answer.text))
            except (OSError, http.client.HTTPException):
                pass
            self.unknown += 1
            sender = None
            time.sleep(self.PAUSE)

    @property
    def missing(self):
        topic = self.topic.encode()
        with self.device.changed:
            arrived = {int(message["payload"]) for message in self.device.messages if message["topic"] == topic}
        return sorted(set(self.accepted) - arrived)


class Cluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        random.seed(SEED)
        print(f"\n    seed {SEED}, {ROUNDS} rounds")
        cls.servers = Servers(3)
        cls.addClassCleanup(cls.servers.close)
        cls.nodes = []
        for number in range(3):
            # Each gateway prefers a different server.
            urls = cls.servers.urls.split(",")
            urls = ",".join(urls[number:] + urls[:number])
            options = ("--store", urls, "--store-streams", "2", "--request-rate", "1000000",
                       "--endpoint-rate", "1000000")
            node = Node(BINARY, cls.nodes[0] if cls.nodes else None, *options)
            cls.begin(node)
            cls.addClassCleanup(node.__exit__)
            if not cls.nodes:
                cls.set_up(node)
            cls.nodes.append(node)

    @classmethod
    def begin(cls, node):
        """Starts a node, with retries, because newly started servers may not have found each other."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return node.start()
            except RuntimeError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)

    @classmethod
    def set_up(cls, node):
        node.admin("team", "add", TEAM, "Example")
        for name in node.keys:
            node.write(name + ".p8", pem(node.keys[name]))
            node.admin("key", "add", name, node.path(name + ".p8"), "--team", TEAM, "--environment", "any")
        for topic in TOPICS:
            node.admin("topic", "add", topic, "--team", TEAM)

    def setUp(self):
        self.faults = []
        self.devices = []

    def tearDown(self):
        for device in self.devices:
            device.disconnect()

    def device(self, node):
        device = Device(node)
        self.assertEqual(device.enrol(node.enrolment_code()), "enrolled")
        self.connect(device, node)
        device.tokens = {topic: device.register(topic) for topic in TOPICS}
        self.devices.append(device)
        return device

    def connect(self, device, node):
        device.gateway = node
        self.assertEqual(device.connect(), "connected")

    def push(self, node, device, topic=TOPIC, **options):
        body = json.dumps({"aps": {"alert": "x"}, "u": str(uuid.uuid4())}).encode()
        answer = Provider(node).push(
            device.tokens[topic], body, apns_topic=topic, authorization="bearer " + node.token(), **options)
        return answer.status, body.decode(), answer.headers.get("apns-id")

    def test_across(self):
        """R5: A push to one gateway reaches the device at another, even if it is stored, held or has one attempt."""
        first, second, third = self.nodes
        device = self.device(first)
        until(lambda: self.push(second, device)[0] == 200, "the second gateway does not know the token")
        status, body, push = self.push(third, device)
        self.assertEqual(status, 200)
        device.wait(lambda: body in device.payloads())
        status, body, _ = self.push(second, device, apns_expiration="0")
        self.assertEqual(status, 200)
        device.wait(lambda: body in device.payloads())
        until(lambda: "delivered" in third.story(push), "the log does not tell the delivery")
        # The device moves to another gateway. Its older connection is closed, and pushes use the new one.
        older = device.messages
        other = Device(second)
        other.key, other.id, other.tokens = device.key, device.id, device.tokens
        self.assertEqual(other.connect(), "connected")
        device.wait(lambda: device.ended)
        self.assertEqual(device.ended, "The device opened a new connection.")
        status, body, _ = self.push(third, device)
        other.wait(lambda: body in other.payloads())
        self.assertNotIn(body, [message["payload"].decode() for message in older])
        # While the device is disconnected, the latest push is stored, and the log shows this.
        other.disconnect()
        until(lambda: not second.admin("device", "show", str(uuid.UUID(bytes=device.id)))[0]["device"]["isConnected"],
              "the device is not gone")
        _, first_body, replaced = self.push(first, device)
        _, body, latest = self.push(third, device)
        until(lambda: second.story(replaced)[-1] == "discarded-replaced", "it is not said what replaced it")
        self.assertEqual(first.story(latest), ["received", "stored-offline"])
        _, lost, _ = self.push(third, device, apns_expiration="0")
        self.connect(device, third)
        device.wait(lambda: body in device.payloads())
        self.assertNotIn(first_body, device.payloads())
        self.assertNotIn(lost, device.payloads())

    def test_messages(self):
        """R5, B7: Messages of UnifiedPush wait for a disconnected device, whichever gateways accept and deliver them."""
        first, second, third = self.nodes
        device = self.device(first)
        topic = endpoint_topic()
        token = device.register(topic)
        senders = [EndpointSender(node) for node in self.nodes]
        for sender in senders:
            self.addCleanup(sender.close)

        def send(number, body, **headers):
            answer = senders[number].push(token, body, **headers)
            self.assertEqual(answer.status, 201, answer.text)
            return "/up/" + answer.headers["Location"].split("/up/")[1]

        def bodies():
            with device.changed:
                return [message["payload"] for message in device.messages if message["topic"] == topic.encode()]

        send(1, bytes(range(256)) * 16)
        device.wait(lambda: bodies() == [bytes(range(256)) * 16])
        send(2, b"once", TTL="0")
        device.wait(lambda: bodies()[1:] == [b"once"])
        device.disconnect()
        until(lambda: not first.admin("device", "show", str(uuid.UUID(bytes=device.id)))[0]["device"]["isConnected"],
              "the device is not gone")
        with device.changed:
            device.messages.clear()
        send(0, b"lost", TTL="0")
        send(1, b"1")
        replaced = send(2, b"2", Topic="state")
        withdrawn = send(0, b"3")
        for number in range(90):
            send(number % 3, b"bulk %d" % number)
        send(1, b"4", Topic="state")
        self.assertEqual(senders[2].ask("DELETE", withdrawn).status, 204)
        self.assertEqual(senders[1].ask("DELETE", withdrawn).status, 404)
        until(lambda: second.story(replaced.rsplit("/", 1)[1])[-1] == "discarded-replaced", "it is not replaced")
        until(lambda: third.story(withdrawn.rsplit("/", 1)[1])[-1] == "discarded-withdrawn", "it is not taken back")
        self.connect(device, third)
        device.wait(lambda: bodies()[-1:] == [b"4"])
        self.assertEqual(bodies(), [b"1"] + [b"bulk %d" % number for number in range(90)] + [b"4"])

    def test_known_soon(self):
        """R5: The suspension of a team and the revocation of a device apply at every gateway."""
        first, second, third = self.nodes
        device = self.device(third)
        until(lambda: self.push(second, device)[0] == 200, "the token is not known")
        first.admin("team", "suspend", TEAM)
        until(lambda: self.push(second, device)[0] == 403, "the team is not suspended everywhere")
        second.admin("team", "resume", TEAM)
        until(lambda: self.push(first, device)[0] == 200, "the team may not send everywhere")
        until(lambda: self.push(second, device)[0] == 200, "the team may not send everywhere")
        first.admin("device", "revoke", str(uuid.UUID(bytes=device.id)))
        device.wait(lambda: device.ended)
        self.assertEqual(device.ended, "The device was revoked.")
        until(lambda: self.push(second, device)[0] == 410, "the token is not ended everywhere")

    def test_silent(self):
        """R4, R5: Of many silent pushes through all gateways at once, two pass."""
        device = self.device(self.nodes[0])
        for node in self.nodes:
            until(lambda: self.push(node, device, "org.example.News")[0] == 200, "the token is not known")
        device.wait(lambda: len(device.messages) >= 1)
        statuses = []

        def send(node):
            body = json.dumps({"aps": {"content-available": 1}}).encode()
            provider, authorization = Provider(node), "bearer " + node.token()
            for _ in range(5):
                statuses.append(provider.push(
                    device.tokens[TOPIC], body, apns_topic=TOPIC, apns_push_type="background", apns_priority="5",
                    authorization=authorization).status)

        threads = [threading.Thread(target=send, args=(node,)) for node in self.nodes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(statuses, [200] * 15)
        silent = lambda: [body for body in device.payloads() if "content-available" in body]
        # A later push may have replaced an earlier one that passed but was still in flight.
        device.wait(lambda: silent())
        self.assertLessEqual(len(silent()), 2)

    def test_away(self):
        """R5: Without a majority of the servers, the gateways accept no push. When the servers are back, they do."""
        node = self.nodes[1]
        device = self.device(node)
        status, body, _ = self.push(node, device)
        self.assertEqual(status, 200)
        device.wait(lambda: body in device.payloads())
        device.disconnect()
        status, kept, _ = self.push(node, device)
        self.assertEqual(status, 200)
        for number in range(3):
            self.servers.kill(number)
        until(lambda: self.push(node, device)[0] == 503, "a push is not refused")
        self.servers.start(0)
        for _ in range(3):
            # One of three servers is not a majority.
            self.assertEqual(self.push(node, device)[0], 503)
        for number in (1, 2):
            self.servers.start(number)
        until(lambda: self.push(node, device, "org.example.News")[0] == 200, "no push is accepted any longer")
        until(lambda: self.comes_to(device, node), "the device is not let in")
        device.wait(lambda: kept in device.payloads() or any(
            message["topic"] == TOPIC.encode() for message in device.messages[1:]))
        self.until_whole()

    def comes_to(self, device, node):
        try:
            device.gateway = node
            return device.connect() == "connected"
        except Exception:
            return False

    def test_kills(self):
        """R5: Accepted pushes that were not replaced arrive, although gateways and NATS servers are killed at random."""
        devices = [self.device(random.choice(self.nodes)) for _ in range(DEVICES)]
        senders = [Sender(self, device, topic) for device in devices for topic in TOPICS]
        messages = [MessageSender(self, device) for device in devices]
        stops = threading.Event()

        def come_back():
            """Moves devices that lost their gateway to another one."""
            while not stops.is_set():
                for device in devices:
                    if device.ended or random.random() < 0.01:
                        try:
                            device.gateway = random.choice(self.nodes)
                            if device.connect() != "connected":
                                device.ended = "refused"
                        except Exception:
                            device.ended = "refused"
                stops.wait(0.1)

        keeper = threading.Thread(target=come_back, daemon=True)
        for thread in senders + messages + [keeper]:
            thread.start()
        kills = {"gateway": 0, "server": 0}
        for _ in range(ROUNDS):
            before = sum(len(sender.accepted) for sender in senders)
            time.sleep(random.uniform(0.2, 2))
            number = random.randrange(3)
            if random.random() < 0.5:
                kills["gateway"] += 1
                node = self.nodes[number]
                node.kill()
                time.sleep(random.uniform(0, 1))
                # The gateway's devices use another one in the meantime. Its ports are new.
                self.begin(node)
            else:
                kills["server"] += 1
                self.servers.kill(number)
                time.sleep(random.uniform(0, 3))
                self.servers.start(number)
                # Kill one server at a time, and the next one only when this one has caught up with the others.
                self.until_whole()
            until(lambda: sum(len(sender.accepted) for sender in senders) > before, "no push is accepted any longer")
        for sender in senders + messages:
            sender.stops = True
        for sender in senders + messages:
            sender.join()
        stops.set()
        keeper.join()
        for device in devices:
            until(lambda: self.comes(device), "a device is not let in")

        def missing():
            return [(sender.device, sender.topic, sender.accepted[-1]) for sender in senders if sender.accepted and not [
                number for number in self.numbers(sender) if number >= sender.accepted[-1]]]

        try:
            until(lambda: not missing(), "", patience=60)
        except AssertionError:
            self.fail(f"lost: {[(topic, number) for _, topic, number in missing()]}")
        try:
            until(lambda: not any(sender.missing for sender in messages), "", patience=60)
        except AssertionError:
            self.fail(f"lost messages: {[(sender.topic, sender.missing) for sender in messages]}")
        accepted = sum(len(sender.accepted) for sender in senders)
        arrived = [(message["push"]) for device in devices for message in device.messages]
        print(f"\n    {kills['gateway']} kills of gateways and {kills['server']} of NATS servers; {accepted} pushes with "
              f"a 200, {sum(sender.unknown for sender in senders)} without; {len(set(arrived))} arrived, "
              f"{len(arrived) - len(set(arrived))} of them came again, which devices know by their ids; "
              f"{sum(len(sender.accepted) for sender in messages)} messages of UnifiedPush with a 201")
        self.assertEqual(self.faults, [])

    def comes(self, device):
        try:
            if device.ended is None and device.reader:
                device.ping()
            if device.ended is None:
                return True
            device.gateway = random.choice(self.nodes)
            return device.connect() == "connected"
        except Exception:
            return False

    def numbers(self, sender):
        topic = sender.topic.encode()
        with sender.device.changed:
            return [json.loads(message["payload"]).get("n", 0) for message in sender.device.messages
                    if message["topic"] == topic]

    def until_whole(self):
        self.findings = []
        try:
            until(self.is_whole, "")
        except AssertionError:
            # If the numbers change, the servers are slow. If not, the servers are stuck.
            count = len(self.findings)
            some = [self.findings[count * part // 5] for part in range(5)] + self.findings[-1:]
            self.fail(f"the servers do not find each other again, asked {count} times:\n" + "\n".join(some))

    def is_whole(self):
        finding = subprocess.run(
            [BINARY, "doctor", "--store", self.servers.urls, "--store-streams", "2", "--socket",
             self.nodes[0].path("state/admin.sock")], capture_output=True, encoding="utf-8").stdout
        self.findings.append(finding)
        return "ok   The store on NATS is intact." in finding


if __name__ == "__main__":
    unittest.main(verbosity=2)
