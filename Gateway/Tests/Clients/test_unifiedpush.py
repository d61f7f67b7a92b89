"""Tests of UnifiedPush from sender to app: a sender on Python's own HTTP, the real gateway, the real service, and a real session bus,
which starts an app for a message. The app was written from the specification alone. Gateway and service are killed at any time.

The tests expect the programs of the main package in $NIGHTSHIFT_BIN (.build/debug). Without them, they are skipped with a message.
"""

import json
import os
import random
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from gateway import Gateway

BINARY = os.environ["NIGHTSHIFT_GATEWAY"]
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
PROGRAMS = os.environ.get("NIGHTSHIFT_BIN", os.path.join(ROOT, ".build/debug"))
ROUNDS = int(os.environ.get("NIGHTSHIFT_ROUNDS", "40"))
APP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "unifiedpush_app.py")
NAME, TOKEN = "org.example.Chat", "5b5b8bb1-4e0c-4c73-9e10-5a4f0d3f1a01"
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type><listen>{address}</listen><auth>EXTERNAL</auth><servicedir>{folder}</servicedir>
  <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>
"""


class Desktop:
    """A session with its bus, the device's service, and an app that the bus can start."""

    def __init__(self, gateway, version="2", is_activatable=True, enrols=True):
        self.folder = tempfile.mkdtemp(prefix="nightshift-up-")
        self.version = version
        self.log = os.path.join(self.folder, "heard")
        self.address = "unix:path=" + os.path.join(self.folder, "bus")
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": self.folder, "NIGHTSHIFT_HOME": os.path.join(self.folder, "home"),
            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent", "DBUS_SESSION_BUS_ADDRESS": self.address}
        self.running = []
        # The folder holds only services, because the bus reads it again whenever it changes.
        os.mkdir(os.path.join(self.folder, "services"))
        if is_activatable:
            self.write("services/" + NAME + ".service", f"[D-BUS Service]\nName={NAME}\nExec={' '.join(self.command())}\n")
        self.write("bus.conf", BUS.format(address=self.address, folder=os.path.join(self.folder, "services")))
        bus = subprocess.Popen(
            ["dbus-daemon", "--config-file=" + os.path.join(self.folder, "bus.conf"), "--nofork", "--nopidfile",
             "--print-address"], stdout=subprocess.PIPE, stderr=open(os.path.join(self.folder, "bus.log"), "ab"),
            env=self.environment)
        bus.stdout.readline()
        self.running.append(bus)
        self.start()
        if enrols:
            self.run(
                "push", "enrol", f"nightshift-push://localhost:{gateway.device_port}/{gateway.enrolment_code()}",
                "--authority", gateway.path("authority.pem"))

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    def command(self, *words):
        return ["/usr/bin/python3", APP, NAME, self.log, "--version", self.version, *words]

    def start(self):
        self.process = subprocess.Popen(
            [os.path.join(PROGRAMS, "nightshiftd")], env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=open(os.path.join(self.folder, "log"), "ab"))
        self.run("push")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def run(self, *words):
        result = subprocess.run(
            [os.path.join(PROGRAMS, "nightshift"), *words], env=self.environment, capture_output=True,
            encoding="utf-8", timeout=60)
        if result.returncode:
            raise RuntimeError(f"{words}: {result.stdout}{result.stderr}")
        return result.stdout

    def app(self, *words):
        # A distributor's name appears shortly after its service has started.
        self.until(lambda: "org.unifiedpush.Distributor.nightshift" in subprocess.run(
            ["busctl", "--address=" + self.address, "list", "--acquired", "--no-pager"], capture_output=True,
            encoding="utf-8").stdout, "the distributor's name")
        self.running.append(subprocess.Popen(self.command(*words), env=self.environment))
        return self.running[-1]

    def end(self, app):
        app.kill()
        app.wait()
        self.running.remove(app)

    def heard(self, call=None):
        if not os.path.exists(self.log):
            return []
        with open(self.log) as file:
            lines = [json.loads(line) for line in file]
        return [line for line in lines if call in (None, line["call"])]

    def until(self, condition, what):
        limit = time.monotonic() + 60
        while not condition():
            if time.monotonic() > limit:
                raise AssertionError(f"{what}: {self.heard()[-5:]}\n{self.told()}")
            time.sleep(0.05)

    def told(self):
        return self.run("push") + self.run("push", "why", NAME) + self.run("journal", "--app", NAME)[-4000:]

    def register(self, *words):
        """Registers the app, and returns its endpoint."""
        before = len(self.heard("NewEndpoint"))
        app = self.app("--register", TOKEN, "--stay", "600", *words)
        self.until(lambda: self.heard("answer"), "an answer")
        assert self.heard("answer")[-1]["success"] == "REGISTRATION_SUCCEEDED", self.heard("answer")
        self.until(lambda: len(self.heard("NewEndpoint")) > before, "the endpoint")
        return app, self.heard("NewEndpoint")[-1]["endpoint"]

    def close(self):
        for process in [self.process] + self.running[::-1]:
            process.terminate()
            process.wait()
        shutil.rmtree(self.folder)


def send(gateway, endpoint, body, ttl=600, **headers):
    request = urllib.request.Request(endpoint, body, {"TTL": str(ttl), **headers}, method="POST")
    try:
        with urllib.request.urlopen(request, context=gateway.trust(alpn=("http/1.1",)), timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


@unittest.skipUnless(
    os.path.exists(os.path.join(PROGRAMS, "nightshiftd")), f"there is no nightshiftd in {PROGRAMS}: `make build` first")
class UnifiedPush(unittest.TestCase):
    def test_story(self):
        """B7: An app of either version registers, is started, receives its messages, and unregisters."""
        for version in "1", "2":
            with self.subTest(version=version), Gateway(BINARY) as gateway:
                desktop = Desktop(gateway, version)
                try:
                    app, endpoint = desktop.register()
                    with urllib.request.urlopen(endpoint, context=gateway.trust(alpn=("http/1.1",))) as answer:
                        self.assertEqual(json.load(answer), {"unifiedpush": {"version": 1}})
                    body = bytes(range(256)) * 16
                    self.assertEqual(send(gateway, endpoint, body), 201)
                    desktop.until(lambda: desktop.heard("Message"), "the message")
                    message = desktop.heard("Message")[0]
                    self.assertEqual(bytes.fromhex(message["message"]), body)
                    self.assertEqual((message["token"], message["version"]), (TOKEN, int(version)))
                    # The app is not running now, so the bus starts it.
                    desktop.end(app)
                    started = len(desktop.heard("started"))
                    self.assertEqual(send(gateway, endpoint, b"wake up", Urgency="high"), 201)
                    desktop.until(lambda: len(desktop.heard("Message")) == 2, "the message for an app that is started")
                    self.assertEqual(len(desktop.heard("started")), started + 1)
                    for words in (["push"], ["push", "why", NAME]):
                        self.assertIn("UnifiedPush", desktop.run(*words))
                        self.assertIn("An account", desktop.run(*words))
                    self.assertIn("An account", json.dumps(json.loads(desktop.run("push", "--json"))))
                    self.assertIn("the app has received it", desktop.run("journal", "--app", NAME))
                    self.assertIn("push", desktop.run("doctor"))
                    # The app unregisters, and its endpoint no longer exists.
                    desktop.until(lambda: NAME not in subprocess.run(
                        ["busctl", "--address=" + desktop.address, "list", "--acquired", "--no-pager"],
                        capture_output=True, encoding="utf-8").stdout, "the end of the app")
                    desktop.app("--unregister", TOKEN, "--stay", "600")
                    desktop.until(lambda: desktop.heard("Unregistered"), "the farewell")
                    self.assertEqual(desktop.heard("Unregistered")[0]["token"], "" if version == "1" else TOKEN)
                    desktop.until(lambda: send(gateway, endpoint, b"x") == 410, "the end of the endpoint")
                    self.assertNotIn("UnifiedPush:", desktop.run("push"))
                finally:
                    desktop.close()

    def test_without_enrolment(self):
        """B7: On a device without an enrolment, an app receives the error that the user must act."""
        with Gateway(BINARY) as gateway:
            for version, reason in ("1", "nightshift push enrol"), ("2", "ACTION_REQUIRED"):
                desktop = Desktop(gateway, version, enrols=False)
                try:
                    desktop.app("--register", TOKEN, "--stay", "600")
                    desktop.until(lambda: desktop.heard("answer"), "an answer")
                    answer = desktop.heard("answer")[0]
                    self.assertEqual(answer["success"], "REGISTRATION_FAILED")
                    self.assertIn(reason, answer["reason"])
                finally:
                    desktop.close()

    def test_absent(self):
        """B7: Messages wait in order for an app that cannot be started, and are delivered when it runs."""
        with Gateway(BINARY) as gateway:
            desktop = Desktop(gateway, is_activatable=False)
            try:
                app, endpoint = desktop.register()
                desktop.end(app)
                for number in range(5):
                    self.assertEqual(send(gateway, endpoint, b"%d" % number), 201)
                desktop.until(lambda: "5 waiting" in desktop.run("push"), "what waits")
                desktop.kill()
                desktop.start()
                desktop.app("--stay", "600")
                desktop.until(lambda: len(desktop.heard("Message")) == 5, "the messages")
                self.assertEqual([bytes.fromhex(line["message"]) for line in desktop.heard("Message")],
                                 [b"%d" % number for number in range(5)])
            finally:
                desktop.close()

    def test_other_gateway(self):
        """B7: An app receives a new endpoint when its device is enrolled elsewhere."""
        with Gateway(BINARY) as gateway, Gateway(BINARY) as other:
            desktop = Desktop(gateway)
            try:
                _, endpoint = desktop.register()
                desktop.run("push", "leave")
                desktop.run("push", "enrol", f"nightshift-push://localhost:{other.device_port}/{other.enrolment_code()}",
                            "--authority", other.path("authority.pem"))
                desktop.until(lambda: len(desktop.heard("NewEndpoint")) == 2, "the new endpoint")
                fresh = desktop.heard("NewEndpoint")[1]["endpoint"]
                self.assertNotEqual(fresh, endpoint)
                self.assertEqual(send(other, fresh, b"here"), 201)
                desktop.until(lambda: desktop.heard("Message"), "the message")
            finally:
                desktop.close()

    def test_kills(self):
        """B7, R5: Every message answered with 201 reaches the app, although gateway and service are killed."""
        seed = int(os.environ.get("NIGHTSHIFT_SEED", random.randrange(1 << 30)))
        chance = random.Random(seed)
        kills = {"gateway": 0, "service": 0}
        with Gateway(BINARY) as gateway:
            # The port is fixed, so that endpoints stay valid after a restart of the gateway.
            gateway.options = ("--providers", f"127.0.0.1:{gateway.port}")
            desktop = Desktop(gateway)
            try:
                _, endpoint = desktop.register()
                sent = []
                for number in range(ROUNDS):
                    victim = chance.choice([None, "gateway", "service", "service"])
                    before = chance.random() < 0.5
                    if victim and before:
                        self.strike(victim, gateway, desktop, kills)
                    self.assertEqual(send(gateway, endpoint, b"%d" % number), 201, f"seed {seed}")
                    sent.append(number)
                    if victim and not before:
                        time.sleep(chance.random() * 0.3)
                        self.strike(victim, gateway, desktop, kills)
                    if victim == "gateway":
                        desktop.run("device", "set", "network=no")
                        desktop.run("device", "set", "network=yes")

                def got():
                    return [int(bytes.fromhex(line["message"])) for line in desktop.heard("Message")]

                desktop.until(lambda: set(got()) >= set(sent), f"seed {seed}: a message is lost")
                first = list(dict.fromkeys(got()))
                self.assertEqual(first, sent, f"seed {seed}: their order")
                # A message that the app received just as the service was killed is delivered again, with the same id.
                twice = len(got()) - len(first)
                self.assertLessEqual(twice, kills["service"])
                self.assertEqual(len({line["id"] for line in desktop.heard("Message")}), len(sent))
            finally:
                desktop.close()
        print(f"seed {seed}: {len(sent)} messages, {twice} twice, {kills}", end=" ", flush=True)

    def strike(self, victim, gateway, desktop, kills):
        kills[victim] += 1
        if victim == "gateway":
            gateway.kill()
            gateway.start()
        else:
            desktop.kill()
            desktop.start()


if __name__ == "__main__":
    unittest.main()
