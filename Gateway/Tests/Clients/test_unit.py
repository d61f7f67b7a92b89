"""Tests of the program as its unit runs it: with the unit's filters and command line, and by users without permission."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import confined
from device import Device
from gateway import TOPIC, Gateway
from provider import Provider
from test_endpoints import Sender
from test_endpoints import topic as endpoint_topic

BINARY = os.environ["NIGHTSHIFT_GATEWAY"]
HERE = os.path.dirname(os.path.abspath(__file__))
UNIT = os.path.abspath(os.path.join(HERE, "../../../packaging/systemd/nightshift-gateway.service"))
LAUNCHER = (sys.executable, os.path.join(HERE, "confined.py"), UNIT)


class Unit(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Install the program for all users, as a package does. It was built in a folder that others may not enter.
        folder = tempfile.mkdtemp(prefix="nightshift-program-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        cls.program = shutil.copy(BINARY, folder)
        os.chmod(cls.program, 0o755)

    def live(self, gateway):
        """Exercises all functions of a gateway, from the first connection to SIGTERM."""
        provider = Provider(gateway)

        def push(token):
            answer = provider.push(token, authorization="bearer " + gateway.token(), apns_topic=TOPIC)
            self.assertEqual(answer.status, 200, answer.reason)

        device = Device.new(gateway)
        token = device.register(TOPIC)
        push(token)
        device.wait(lambda: len(device.messages) == 1)
        device.disconnect()
        push(token)
        self.assertEqual(device.connect(), "connected")
        device.wait(lambda: len(device.messages) == 2)
        endpoint = device.register(endpoint_topic())
        sender = Sender(gateway)
        self.assertEqual(sender.push(endpoint).status, 201)
        device.wait(lambda: len(device.messages) == 3)
        self.assertEqual(gateway.status("/healthz"), "ok\n")
        self.assertIn("nightshift_gateway_devices 1", gateway.status("/metrics"))
        gateway.renew_certificate()
        Provider(gateway).close()
        device.disconnect()
        self.assertEqual(gateway.stop(), 0, open(gateway.path("log")).read())

    def test_filters(self):
        """R5: The gateway works under the unit's filters, each of which would kill it for a forbidden call."""
        gateway = Gateway(self.program, launcher=LAUNCHER)
        if os.geteuid() == 0:
            os.chown(gateway.folder, confined.NOBODY, confined.NOBODY)
        with gateway:
            self.live(gateway)

    def test_filters_kill(self):
        """The filters of this test are active, so a call that the unit forbids ends a program with SIGSYS."""
        result = subprocess.run([*LAUNCHER, "/usr/bin/taskset", "1", "/bin/true"])
        self.assertEqual(result.returncode, -31)

    def test_unknown_call(self):
        """R5: A call that is not on the unit's list fails, and does not kill the gateway."""
        self.assertEqual(confined.settings(UNIT).get("SystemCallErrorNumber"), ["EPERM"])

    def test_verify(self):
        """R5: systemd accepts every line of the unit."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "nightshift-gateway.service")
            with open(UNIT) as file, open(path, "w") as copy:
                copy.write(file.read().replace("/usr/bin/nightshift-gateway", BINARY).replace(
                    "file:/usr/share/doc/nightshift-gateway/docs/push-gateway.md", "man:true(1)"))
            result = subprocess.run(
                ["systemd-analyze", "verify", "--man=no", path], capture_output=True, encoding="utf-8")
            lines = [line for line in result.stderr.split("\n") if "nightshift-gateway" in line]
            self.assertEqual(lines, [])

    def command(self, credentials):
        """Returns the unit's command line, with its credentials in a folder."""
        line = confined.settings(UNIT)["ExecStart"][0]
        words = shlex.split(line.replace("${CREDENTIALS_DIRECTORY}", credentials).replace("$OPTIONS", ""))
        return [BINARY, *words[1:]]

    def start(self, folder, **files):
        credentials = os.path.join(folder, "credentials")
        os.makedirs(credentials, exist_ok=True)
        for name, text in files.items():
            with open(os.path.join(credentials, "tls." + name), "wb") as file:
                file.write(text)
        environment = {**os.environ, "CREDENTIALS_DIRECTORY": credentials,
                       "STATE_DIRECTORY": os.path.join(folder, "state"),
                       "RUNTIME_DIRECTORY": os.path.join(folder, "run")}
        return subprocess.run(
            self.command(credentials), env=environment, capture_output=True, encoding="utf-8")

    def test_missing_certificate(self):
        """R5: Without a certificate the service names the missing file and its place, and is not restarted."""
        fallback = dict(value.split(":", 1) for value in confined.settings(UNIT)["SetCredential"])
        self.assertEqual(set(fallback), {"tls.pem", "tls.key"})
        sources = dict(value.split(":", 1) for value in confined.settings(UNIT)["LoadCredential"])
        with tempfile.TemporaryDirectory() as folder:
            result = self.start(folder, pem=fallback["tls.pem"].encode(), key=fallback["tls.key"].encode())
            self.assertIn("tls.pem has no certificate in PEM format.", result.stderr)
            self.assertIn(sources["tls.pem"], result.stderr)
            self.assertEqual(result.returncode, 78)
            self.assertIn("78", confined.settings(UNIT)["RestartPreventExitStatus"][0].split())
            # The gateway has not created anything.
            self.assertFalse(os.path.exists(os.path.join(folder, "state")))

    def test_missing_key(self):
        """R5: The service reports a missing key or one that does not match."""
        with tempfile.TemporaryDirectory() as folder:
            gateway = Gateway(BINARY)
            chain = open(gateway.path("tls.pem"), "rb").read()
            gateway.renew_certificate()
            other = open(gateway.path("tls.key"), "rb").read()
            shutil.rmtree(gateway.folder)
            result = self.start(folder, pem=chain, key=b"missing")
            self.assertIn("tls.key has no private key in PEM format.", result.stderr)
            self.assertEqual(result.returncode, 78)
            result = self.start(folder, key=other)
            self.assertIn("does not belong to the certificate", result.stderr)
            self.assertEqual(result.returncode, 78)

    def test_missing_file(self):
        """R5: A gateway run by hand reports a missing file, and a port that is in use."""
        result = subprocess.run(
            [BINARY, "run", "--certificate", "/nonexistent/tls.pem", "--key", "/nonexistent/tls.key"],
            capture_output=True, encoding="utf-8")
        self.assertIn("/nonexistent/tls.pem does not exist", result.stderr)
        self.assertNotIn("systemd", result.stderr)
        self.assertEqual(result.returncode, 78)
        with Gateway(BINARY) as gateway:
            result = subprocess.run(
                [BINARY, "run", "--certificate", gateway.path("tls.pem"), "--key", gateway.path("tls.key"),
                 "--state", gateway.path("other"), "--providers", f"127.0.0.1:{gateway.port}"],
                capture_output=True, encoding="utf-8")
            self.assertIn(f"Port {gateway.port} of '127.0.0.1' cannot be opened: Address already in use.", result.stderr)
            # The port may soon be free, so the service is restarted.
            self.assertEqual(result.returncode, 1)

    def test_manual_page(self):
        """The manual page has every command, and mandoc reports no problem."""
        page = subprocess.run(
            [BINARY, "manual"], capture_output=True, encoding="utf-8", check=True,
            env={**os.environ, "SOURCE_DATE_EPOCH": "1795262400"}).stdout
        self.assertTrue(page.startswith(".Dd November 21, 2026\n.Dt NIGHTSHIFT\\-GATEWAY 1\n"), page[:80])
        for command in ("run", "team add", "key add", "doctor"):
            self.assertIn(f".Ss nightshift\\-gateway {command}\n", page)
        if shutil.which("mandoc"):
            verdict = subprocess.run(
                ["mandoc", "-T", "lint", "-W", "warning"], input=page, capture_output=True, encoding="utf-8")
            self.assertEqual((verdict.returncode, verdict.stdout), (0, ""))

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_permission(self):
        """R5: A user without permission gets an error that says what to do."""
        with Gateway(BINARY) as gateway:
            socket = gateway.path("state/admin.sock")

            def run(*words):
                return subprocess.run(
                    [self.program, *words], capture_output=True, encoding="utf-8", user=confined.NOBODY,
                    group=confined.NOBODY, extra_groups=[], cwd="/")

            result = run("team", "list", "--socket", socket)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"You may not use the gateway at {socket}", result.stderr)
            self.assertIn("sudo", result.stderr)
            result = run("doctor", "--state", gateway.path("state"))
            self.assertIn(f"You have no permission to read {gateway.path('state')}.", result.stdout)
            self.assertNotIn("no database", result.stdout)
            # The error is the same if everyone may enter the folder.
            for path in (gateway.folder, gateway.path("state")):
                os.chmod(path, 0o755)
            os.chmod(socket, 0o777)
            result = run("team", "list", "--socket", socket)
            self.assertEqual(result.returncode, 1)
            self.assertIn("You may not use the gateway", result.stderr)
            result = run("team", "list", "--socket", gateway.path("nobody"))
            self.assertIn("No gateway answers", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
