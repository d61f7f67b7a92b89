"""Tests of unmodified third-party provider libraries with the real program.

Some libraries have no parameters for settings such as the address. The tests set these as users do, with a subclass or a class
attribute.
"""

import asyncio
import logging
import os
import time
import unittest
import uuid

from device import Device
from gateway import KEY, TEAM, TOPIC, Gateway

BINARY = os.environ["NIGHTSHIFT_GATEWAY"]
logging.disable(logging.CRITICAL)


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(BINARY).__enter__()
        cls.device = Device.new(cls.gateway)
        cls.token = cls.device.register(TOPIC)
        cls.key_file = cls.gateway.path(KEY + ".p8")
        # Libraries without an option for certificates trust those that an environment variable names.
        os.environ["SSL_CERT_FILE"] = cls.gateway.path("authority.pem")

    @classmethod
    def tearDownClass(cls):
        cls.device.disconnect()
        cls.gateway.__exit__()

    def arrives(self, text):
        self.device.wait(lambda: any(text in message["payload"].decode() for message in self.device.messages))

    def test_aioapns(self):
        """R5, B7: The library aioapns works, although it offers no ALPN and sends a Host header."""
        import aioapns
        import aioapns.connection

        gateway = self.gateway

        class Protocol(aioapns.connection.APNsTLSClientProtocol):
            APNS_SERVER = "localhost"
            APNS_PORT = gateway.port

        async def run():
            with open(self.key_file) as file:
                client = aioapns.APNs(
                    key=file.read(), key_id=KEY, team_id=TEAM, topic=TOPIC, ssl_context=gateway.trust(alpn=None))
            client.pool.protocol_class = Protocol
            name = str(uuid.uuid4())
            requests = [
                aioapns.NotificationRequest(
                    device_token=self.token, message={"aps": {"alert": f"aioapns {number}"}},
                    notification_id=name if number == 0 else None) for number in range(50)]
            results = await asyncio.gather(*(client.send_notification(request) for request in requests))
            self.assertEqual({result.status for result in results}, {"200"})
            self.assertEqual(results[0].notification_id, name)
            bad = await client.send_notification(
                aioapns.NotificationRequest(device_token="00", message={"aps": {"alert": "x"}}))
            self.assertEqual((bad.status, bad.description), ("400", "BadDeviceToken"))
            client.pool.close()

        asyncio.run(run())
        self.arrives("aioapns 49")

    def test_kalyke(self):
        """R5, B7: The library kalyke works, although it writes token times as text and connects for every push."""
        from kalyke import ApnsClient, ApnsConfig, PayloadAlert, Payload
        from kalyke.exceptions import BadDeviceToken

        gateway = self.gateway

        class Client(ApnsClient):
            @property
            def _base_url(self):
                return f"https://localhost:{gateway.port}"

        client = Client(use_sandbox=False, team_id=TEAM, auth_key_id=KEY, auth_key_filepath=self.key_file)
        payload = Payload(alert=PayloadAlert(title="kalyke", body="x"), badge=1)
        name = asyncio.run(client.send_message(self.token, payload, ApnsConfig(topic=TOPIC)))
        self.assertEqual(str(uuid.UUID(name)), name)
        self.arrives("kalyke")
        with self.assertRaises(BadDeviceToken):
            asyncio.run(client.send_message("00", payload, ApnsConfig(topic=TOPIC)))

    def test_mopyapns(self):
        """R5, B7: The library mopyapns (apns2) works."""
        from apns2.client import APNsClient
        from apns2.credentials import TokenCredentials
        from apns2.errors import BadDeviceToken
        from apns2.payload import Payload

        gateway = self.gateway

        class Client(APNsClient):
            LIVE_SERVER = "localhost"
            DEFAULT_PORT = gateway.port

        client = Client(TokenCredentials(self.key_file, KEY, TEAM))
        client.send_notification(self.token, Payload(alert="mopyapns"), TOPIC, expiration=int(time.time()) + 600)
        self.arrives("mopyapns")
        with self.assertRaises(BadDeviceToken):
            client.send_notification("00", Payload(alert="x"), TOPIC)

    def test_pyapns_client(self):
        """R5, B7: The library pyapns-client3 works, and reports the time of a 410."""
        import pyapns_client
        from pyapns_client.base import BaseAPNSClient

        BaseAPNSClient.BASE_URLS = dict.fromkeys(BaseAPNSClient.BASE_URLS, f"https://localhost:{self.gateway.port}")
        authentication = pyapns_client.TokenBasedAuth(auth_key_path=self.key_file, auth_key_id=KEY, team_id=TEAM)
        other = Device.new(self.gateway)
        gone = other.register(TOPIC)
        with pyapns_client.APNSClient(
                mode=pyapns_client.APNSClient.MODE_PROD, authentificator=authentication,
                root_cert_path=self.gateway.path("authority.pem")) as client:
            notification = pyapns_client.IOSNotification(
                payload=pyapns_client.IOSPayload(alert=pyapns_client.IOSPayloadAlert(title="pyapns")), topic=TOPIC)
            client.push(notification, self.token)
            self.arrives("pyapns")
            before = time.time()
            other.ask("unregister", TOPIC)
            with self.assertRaises(pyapns_client.UnregisteredException) as caught:
                client.push(notification, gone)
            self.assertGreater(caught.exception.timestamp_datetime.timestamp(), before - 1)
        other.disconnect()

    def test_simple_apns(self):
        """R5, B7: The library simple-apns works."""
        from simple_apns import APNSClient
        from simple_apns.exceptions import APNSTokenError

        class Client(APNSClient):
            ENDPOINT_DEVELOPMENT = f"https://localhost:{self.gateway.port}"

        client = Client(team_id=TEAM, auth_key_id=KEY, auth_key_path=self.key_file, bundle_id=TOPIC, use_sandbox=True)
        self.assertTrue(client.send_notification(self.token, {"aps": {"alert": "simple"}}))
        self.arrives("simple")
        with self.assertRaises(APNSTokenError):
            client.send_notification("00", {"aps": {"alert": "x"}})
        client.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
