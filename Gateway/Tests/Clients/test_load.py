"""Tests with a third-party load generator and many devices: every request gets an answer, and memory is reported."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import threading
import time
import unittest
import urllib.request

from device import Device
from gateway import TOPIC, Gateway
from provider import PAYLOAD

BINARY = os.environ["NIGHTSHIFT_GATEWAY"]
REQUESTS = int(os.environ.get("GATEWAY_LOAD_REQUESTS", "4000"))
LOAD = os.environ.get("NIGHTSHIFT_GATEWAY_LOAD", os.path.join(os.path.dirname(BINARY), "gateway-load"))
DEVICES = int(os.environ.get("GATEWAY_LOAD_DEVICES", "200"))


def resident(process):
    """Returns the resident memory in bytes."""
    with open(f"/proc/{process.pid}/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


class Load(unittest.TestCase):
    def setUp(self):
        self.gateway = Gateway(BINARY, "--request-rate", "1000000").__enter__()

    def tearDown(self):
        self.gateway.__exit__()

    @unittest.skipUnless(shutil.which("h2load"), "h2load is in Debian's nghttp2-client")
    def test_h2load(self):
        """R5, B7: Every push of h2load is answered with 200, and the last one is stored for the device."""
        device = Device.new(self.gateway)
        token = device.register(TOPIC)
        device.disconnect()
        self.gateway.write("payload", PAYLOAD)
        result = subprocess.run(
            ["h2load", "-n", str(REQUESTS), "-c", "4", "-m", "50", "-d", self.gateway.path("payload"),
             "-H", "authorization: bearer " + self.gateway.token(), "-H", "apns-topic: " + TOPIC,
             f"https://127.0.0.1:{self.gateway.port}/3/device/{token}"], capture_output=True, text=True)
        self.assertIn(f"{REQUESTS} succeeded, 0 failed, 0 errored", result.stdout, result.stdout)
        self.assertIn(f"status codes: {REQUESTS} 2xx", result.stdout)
        rate = re.search(r"finished in .*?, ([\d.]+) req/s", result.stdout).group(1)
        print(f"\n    {rate} stored pushes a second, each on the disk before its answer")
        self.assertEqual(device.connect(), "connected")
        device.wait(lambda: len(device.messages) == 1)
        device.disconnect()

    def test_devices(self):
        """R5: Many devices are connected at once, and a push reaches each."""
        device = Device.new(self.gateway)
        device.register(TOPIC)
        before = resident(self.gateway.process)
        devices = []
        for _ in range(DEVICES):
            devices.append(Device.new(self.gateway))
        after = resident(self.gateway.process)
        print(f"\n    {(after - before) / DEVICES / 1024:.1f} KiB for each of {DEVICES} connected devices")
        self.assertEqual(self.gateway.admin("status")[0]["deviceConnections"], DEVICES + 1)
        for each in devices + [device]:
            each.disconnect()
        while self.gateway.admin("status")[0]["deviceConnections"]:
            time.sleep(0.05)

    @unittest.skipUnless(os.path.exists(LOAD), "gateway-load is not built")
    def test_restart(self):
        """R5, B7: The devices of gateway-load reconnect after the gateway was killed."""
        load = subprocess.Popen(
            [LOAD, "--devices", "20", "--port", str(self.gateway.device_port), "--socket",
             self.gateway.path("state/admin.sock"), "--authority", self.gateway.path("authority.pem"), "--topic", TOPIC,
             "--tokens", self.gateway.path("tokens"), "--until-stopped"], stdout=subprocess.PIPE, text=True)
        try:
            self.wait_for(lambda: os.path.exists(self.gateway.path("tokens")))
            self.gateway.kill()
            self.gateway.start()
            self.wait_for(lambda: self.gateway.admin("status")[0]["deviceConnections"] == 20)
        finally:
            load.send_signal(signal.SIGTERM)
            output, _ = load.communicate(timeout=60)
        self.assertEqual(load.returncode, 0)
        report = json.loads(output)
        self.assertEqual((report["lost"], report["returned"]), (20, 20))

    def wait_for(self, condition):
        end = time.monotonic() + 120
        while not condition():
            self.assertLess(time.monotonic(), end, "it took too long")
            time.sleep(0.05)


if __name__ == "__main__":
    unittest.main(verbosity=2)
