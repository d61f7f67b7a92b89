"""The push gateway in the machine, and a provider on the host that sends through it."""

import base64
import json
import re
import shlex
import subprocess
import time

from machine import STEP, Failure, wait_until

TEAM, KEY = "TEAM000001", "KEY0000001"
PROVIDERS = 2197
PUSH_ID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Gateway:
    """The gateway as the machine's system service. Its provider needs the machine's port 2197 to be forwarded."""

    def __init__(self, run, machine):
        self.run, self.machine = run, machine
        self.certificate = run.room / "gateway.pem"
        self.key = run.room / "gateway.key"
        self.provider = run.room / "provider.p8"
        self.token = None

    def administer(self, command, **options):
        return self.machine.output("root", f"nightshift-gateway {command}", **options)

    def set_up(self):
        """Gives the gateway a certificate, starts its unit, and adds a team with a key."""
        self._make_keys()
        self.machine.run("root", "install -d /etc/nightshift-gateway")
        self.machine.put("/etc/nightshift-gateway/tls.pem", self.certificate.read_text())
        self.machine.put("/etc/nightshift-gateway/tls.key", self.key.read_text(), mode="600")
        self.machine.put("/etc/nightshift-gateway/options", "OPTIONS=--public-name localhost\n")
        self.machine.run("root", "systemctl enable --now nightshift-gateway.service", timeout=STEP * 2)
        self.machine.put("/root/provider.p8", self.provider.read_text(), mode="600")
        self.administer(f"team add {TEAM} Example")
        self.administer(f"key add {KEY} /root/provider.p8 --team {TEAM}")

    def _make_keys(self):
        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], check=True, capture_output=True, stdin=subprocess.DEVNULL)

        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-subj",
                "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(self.key), "-out",
                str(self.certificate))
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", str(self.provider))

    def register(self, service, app):
        """Enrols a user's service, and registers an app."""
        self.topic = app
        self.administer(f"topic add {app} --team {TEAM}")
        enrolment = json.loads(self.administer("enrolment create --name machine --json"))["url"]
        path = f"/home/{service.user}/gateway.pem"
        self.machine.put(path, self.certificate.read_text(), user=service.user)
        service.run(f"sync {path} && nightshift push enrol {shlex.quote(enrolment)} --authority {path}", timeout=STEP * 2)

        def registered():
            status, value = service.call("PUT", f"/v1/push/{app}/registration", {})
            return status == 200 and value.get("token")

        self.token = wait_until("the app has a token", registered, 300, 2)

    def bearer(self):
        """Returns the provider's JSON web token, signed with its key (RFC 7515)."""

        def text(data):
            return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

        head = text(json.dumps({"alg": "ES256", "kid": KEY}).encode())
        claims = text(json.dumps({"iss": TEAM, "iat": int(time.time())}).encode())
        der = subprocess.run(["openssl", "dgst", "-sha256", "-sign", str(self.provider)], input=f"{head}.{claims}".encode(),
                             capture_output=True, check=True).stdout
        # Two numbers in DER become two of 32 bytes.
        numbers, at = [], 2
        for _ in range(2):
            length = der[at + 1]
            numbers.append(int.from_bytes(der[at + 2:at + 2 + length], "big").to_bytes(32, "big"))
            at += 2 + length
        return f"{head}.{claims}.{text(b''.join(numbers))}"

    def send(self, payload, kind="alert"):
        """Sends a push as a provider does. Returns its id when the gateway has accepted it."""
        outcome = subprocess.run(
            ["curl", "--silent", "--show-error", "--http2", "--max-time", "60", "--noproxy", "*", "--cacert", str(self.certificate),
             "-D", "-", "-H", f"authorization: bearer {self.bearer()}", "-H", f"apns-topic: {self.topic}",
             "-H", f"apns-push-type: {kind}", "--data-binary", json.dumps(payload),
             f"https://localhost:{self.machine.ports[PROVIDERS]}/3/device/{self.token}"],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=90)
        if outcome.returncode != 0 or not re.search(r"(?m)^HTTP/2 200", outcome.stdout):
            raise Failure(f"the gateway does not accept a push: {outcome.stdout}{outcome.stderr}")
        return re.search(r"(?mi)^apns-id: *(\S+)", outcome.stdout)[1].lower()


def push_decisions(journal, decision):
    """Returns how often the journal has a decision about each push."""
    counts = {}
    for entry in journal:
        found = PUSH_ID.match(entry.get("detail", "")) if entry["decision"] == decision else None
        if found:
            counts[found[0].lower()] = counts.get(found[0].lower(), 0) + 1
    return counts


def verify_pushes(service, app, accepted, timeout=600):
    """Waits until every accepted push has one end, and fails when one has none, or two."""

    def counts():
        journal = service.journal()
        received = push_decisions(journal, "pushReceived")
        ends = push_decisions(journal, "pushHandled")
        for push, count in push_decisions(journal, "pushDiscarded").items():
            ends[push] = ends.get(push, 0) + count
        return received, ends

    def all_ended():
        received, ends = counts()
        return set(accepted) <= set(ends) and (received, ends)

    try:
        received, ends = wait_until("every accepted push has ended", all_ended, timeout, 3)
    except Failure:
        received, ends = counts()
        missing = set(accepted) - set(ends)
        raise Failure(f"accepted pushes without an end: {missing}; of these were received: {missing & set(received)}") from None
    twice = {push: (received.get(push), ends[push]) for push in ends if ends[push] != 1 or received.get(push) != 1}
    if twice:
        raise Failure(f"pushes that were received or that ended more than once: {twice}")
    return received
