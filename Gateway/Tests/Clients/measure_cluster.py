"""Measures one gateway on three NATS servers: pushes per second, and memory per connected device.

This is not a test, and only prints figures. GATEWAY_LOAD_REQUESTS and GATEWAY_LOAD_DEVICES set the load.
"""

import os
import re
import subprocess

from device import Device
from gateway import TEAM, TOPIC
from provider import PAYLOAD
from test_cluster import BINARY, Cluster, Node, Servers
from test_load import resident

REQUESTS = int(os.environ.get("GATEWAY_LOAD_REQUESTS", "4000"))
DEVICES = int(os.environ.get("GATEWAY_LOAD_DEVICES", "200"))


def main():
    servers = Servers(3)
    node = Node(BINARY, None, "--store", servers.urls, "--request-rate", "1000000")
    try:
        Cluster.begin(node)
        Cluster.set_up(node)
        device = Device.new(node)
        token = device.register(TOPIC)
        device.disconnect()
        node.write("payload", PAYLOAD)
        result = subprocess.run(
            ["h2load", "-n", str(REQUESTS), "-c", "4", "-m", "50", "-d", node.path("payload"),
             "-H", "authorization: bearer " + node.token(), "-H", "apns-topic: " + TOPIC,
             f"https://127.0.0.1:{node.port}/3/device/{token}"], capture_output=True, text=True)
        rate = re.search(r"finished in .*?, ([\d.]+) req/s", result.stdout).group(1)
        print(re.search(r"status codes: .*", result.stdout).group(0))
        print(f"{rate} stored pushes a second")
        before = resident(node.process), [resident(each) for each in servers.processes]
        devices = [Device.new(node) for _ in range(DEVICES)]
        after = resident(node.process), [resident(each) for each in servers.processes]
        print(f"{(after[0] - before[0]) / DEVICES / 1024:.1f} KiB in the gateway for each of {DEVICES} devices")
        grown = [(new - old) / DEVICES / 1024 for old, new in zip(before[1], after[1])]
        print("NATS servers grew by " + ", ".join(f"{each:.1f} KiB" for each in grown) + " a device")
        for each in devices:
            each.disconnect()
    finally:
        node.__exit__()
        servers.close()


if __name__ == "__main__":
    main()
