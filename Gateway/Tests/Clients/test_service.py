"""Tests of a push from provider to app, with the real gateway, a device's real service and an app's script. Any of them may be killed.

The tests expect the programs of the main package in $NIGHTSHIFT_BIN (.build/debug). Without them, they are skipped with a message.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from gateway import TOPIC, Gateway
from provider import Provider

BINARY = os.environ["NIGHTSHIFT_GATEWAY"]
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
PROGRAMS = os.environ.get("NIGHTSHIFT_BIN", os.path.join(ROOT, ".build/debug"))
ROUNDS = int(os.environ.get("NIGHTSHIFT_ROUNDS", "40"))


class Service:
    """A device with its service, and an app that records every push for which it was woken."""

    def __init__(self, gateway):
        self.folder = tempfile.mkdtemp(prefix="nightshift-push-")
        self.got = os.path.join(self.folder, "got")
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": self.folder, "NIGHTSHIFT_HOME": os.path.join(self.folder, "home"),
            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent"}
        script = os.path.join(self.folder, "woken")
        with open(script, "w") as file:
            # The record is written at once, so that a second process of the app appends after it.
            file.write(f'line=$(cat "$NIGHTSHIFT_PAYLOAD") && printf "%s\\n" "$line" >>{self.got}\n')
        entry = os.path.join(self.folder, TOPIC + ".desktop")
        with open(entry, "w") as file:
            file.write(
                f"[Desktop Entry]\nType=Application\nName=Mail\nExec=sleep 60\nX-Nightshift-Wake=bash {script}\n"
                "X-Nightshift-BackgroundModes=remote-notification;\n")
        self.start()
        self.run("app", "install", entry)
        self.run("push", "enrol", f"nightshift-push://localhost:{gateway.device_port}/{gateway.enrolment_code()}",
                 "--authority", gateway.path("authority.pem"))
        self.token = self.run("push", "token", TOPIC).strip()

    def start(self):
        self.process = subprocess.Popen(
            [os.path.join(PROGRAMS, "nightshiftd")], env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=open(os.path.join(self.folder, "log"), "ab"))

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

    def told(self):
        """Returns the status of the device as text for users."""
        return "".join(self.run(*words) for words in (
            ["push"], ["push", "why", TOPIC], ["app", "show", TOPIC], ["journal", "--app", TOPIC]))[-8000:]

    def notes(self):
        """Returns the notes of every push that the app received, in order."""
        if not os.path.exists(self.got):
            return []
        with open(self.got) as file:
            return [json.loads(push["payload"])["note"] for line in file for push in json.loads(line)]

    def end(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)


@unittest.skipUnless(
    os.path.exists(os.path.join(PROGRAMS, "nightshiftd")), f"there is no nightshiftd in {PROGRAMS}: `make build` first")
class Whole(unittest.TestCase):
    def test_kills(self):
        """R3, R5: Every accepted push reaches its app once, although gateway and service are killed at any time."""
        seed = int(os.environ.get("NIGHTSHIFT_SEED", random.randrange(1 << 30)))
        chance = random.Random(seed)
        kills = {"gateway": 0, "service": 0}
        accepted = []
        with Gateway(BINARY) as gateway:
            service = Service(gateway)
            try:
                provider, bearer = None, "bearer " + gateway.token()
                for note in range(ROUNDS):
                    victim = chance.choice([None, "gateway", "service", "service"])
                    before = chance.random() < 0.5
                    if victim and before:
                        self.strike(victim, gateway, service, kills)
                        provider = None if victim == "gateway" else provider
                    provider = provider or Provider(gateway)
                    body = json.dumps({"aps": {"alert": "x", "content-available": 1}, "note": note}).encode()
                    answer = provider.push(
                        service.token, body, authorization=bearer, apns_topic=TOPIC)
                    self.assertEqual(answer.status, 200, f"seed {seed}, {note}: {answer.reason}")
                    accepted.append(note)
                    if victim and not before:
                        time.sleep(chance.random() * 0.4)
                        self.strike(victim, gateway, service, kills)
                        provider = None if victim == "gateway" else provider
                    if victim == "gateway":
                        # A gateway that fails repeatedly is tried less often, but a network that returns is tried at once.
                        service.run("device", "set", "network=no")
                        service.run("device", "set", "network=yes")
                    # A newer push would replace this push while the device is disconnected.
                    limit = time.monotonic() + 60
                    while note not in service.notes():
                        if time.monotonic() > limit:
                            print(service.told())
                        self.assertLess(time.monotonic(), limit, f"seed {seed}: {note} is lost")
                        time.sleep(0.05)
                # Wait, because a duplicate would arrive late.
                service.kill()
                service.start()
                service.run("push")
                time.sleep(2)
                self.assertEqual(sorted(service.notes()), accepted, f"seed {seed}")
            finally:
                service.end()
        print(f"seed {seed}: {len(accepted)} pushes, {kills}", end=" ", flush=True)

    def strike(self, victim, gateway, service, kills):
        kills[victim] += 1
        if victim == "gateway":
            gateway.kill()
            gateway.start()
        else:
            service.kill()
            service.start()


if __name__ == "__main__":
    unittest.main()
