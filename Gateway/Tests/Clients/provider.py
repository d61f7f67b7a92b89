"""A provider that uses the library h2, and can also break the protocol's rules."""

import json
import socket

import h2.config
import h2.connection
import h2.events
import h2.settings

PAYLOAD = json.dumps({"aps": {"alert": "x"}}).encode()
SILENT = json.dumps({"aps": {"content-available": 1}}).encode()


class Answer:
    def __init__(self):
        self.headers, self.body, self.is_complete = {}, b"", False

    @property
    def status(self):
        return int(self.headers.get(":status", 0))

    @property
    def reason(self):
        return json.loads(self.body)["reason"] if self.body else None


class Provider:
    def __init__(self, gateway, certificate=None, alpn=("h2",), plain=False, context=None, session=None):
        port = gateway.plain_port if plain else gateway.port
        connection = socket.create_connection(("127.0.0.1", port))
        connection.settimeout(30)
        self.socket = connection
        if not plain:
            context = context or gateway.trust(certificate, alpn)
            self.socket = context.wrap_socket(connection, server_hostname="localhost", session=session)
        configuration = h2.config.H2Configuration(
            validate_outbound_headers=False, normalize_outbound_headers=False, header_encoding="utf-8")
        self.h2 = h2.connection.H2Connection(configuration)
        self.h2.initiate_connection()
        self.answers = {}
        self.stream_limits = []
        self.going_away = None
        self.resets = set()
        self.echoes = 0
        self.is_closed = False
        self.flush()

    def flush(self):
        self.socket.sendall(self.h2.data_to_send())

    def begin(self, token, body=PAYLOAD, method="POST", path=None, ends=True, **headers):
        stream = self.h2.get_next_available_stream_id()
        fields = [(":method", method), (":scheme", "https"), (":authority", "localhost"),
                  (":path", f"/3/device/{token}" if path is None else path)]
        for name, value in headers.items():
            for single in value if isinstance(value, list) else [value]:
                if single is not None:
                    fields.append((name.replace("_", "-"), single))
        self.answers[stream] = Answer()
        self.h2.send_headers(stream, fields, end_stream=ends and not body)
        # A frame has at most 16 KiB.
        for start in range(0, len(body), 16384):
            self.h2.send_data(stream, body[start:start + 16384], end_stream=ends and start + 16384 >= len(body))
        self.flush()
        return stream

    def read(self):
        try:
            data = self.socket.recv(65536)
        except ConnectionError:
            data = b""
        if not data:
            self.is_closed = True
            return
        for event in self.h2.receive_data(data):
            if isinstance(event, h2.events.ResponseReceived):
                self.answers[event.stream_id].headers = dict(event.headers)
            elif isinstance(event, h2.events.DataReceived):
                self.answers[event.stream_id].body += event.data
            elif isinstance(event, h2.events.StreamEnded):
                self.answers[event.stream_id].is_complete = True
            elif isinstance(event, h2.events.RemoteSettingsChanged):
                changed = event.changed_settings.get(h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS)
                if changed:
                    self.stream_limits.append(changed.new_value)
            elif isinstance(event, h2.events.ConnectionTerminated):
                self.going_away = event.additional_data
            elif isinstance(event, h2.events.StreamReset):
                self.resets.add(event.stream_id)
            elif isinstance(event, h2.events.PingAckReceived):
                self.echoes += 1
        try:
            self.flush()
        except OSError:
            self.is_closed = True

    def synchronise(self):
        """Returns when the gateway has read everything that was sent."""
        before = self.echoes
        self.h2.ping(b"nightshi")
        self.flush()
        while self.echoes == before:
            self.read()

    def finish(self, stream):
        answer = self.answers[stream]
        while not answer.is_complete and not self.is_closed:
            self.read()
        return answer

    def push(self, token, body=PAYLOAD, **options):
        return self.finish(self.begin(token, body, **options))

    def close(self):
        self.socket.close()
