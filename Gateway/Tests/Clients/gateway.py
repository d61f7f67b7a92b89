"""Runs the real gateway with its own certificates and keys, in a folder that is deleted afterwards."""

import datetime
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import urllib.request
import uuid

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

TEAM, KEY, TOPIC = "TEAM000001", "KEY0000001", "org.example.Mail"
OTHER_TEAM, OTHER_KEY, OTHER_TOPIC = "TEAM000002", "KEY0000002", "org.example.Other"
DEVELOPMENT_KEY, SECOND_KEY = "KEYDEVEL01", "KEYSECOND1"


def new_key():
    return ec.generate_private_key(ec.SECP256R1())


def pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def certificate(key, names, issuer=None, is_authority=False, extensions=(), hosts=()):
    """Returns a certificate for `key`, signed by `issuer` (a pair of key and certificate) or self-signed."""
    subject = x509.Name([x509.NameAttribute(kind, value) for kind, value in names])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(issuer[1].subject if issuer else subject)
        .public_key(key.public_key()).serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1)).not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.BasicConstraints(is_authority, None), critical=True))
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(issuer[0] if issuer else key, hashes.SHA256())


class Gateway:
    """A gateway process. `with Gateway(binary) as gateway:` starts it, and leaving the block ends it."""

    def __init__(self, binary, *options, launcher=()):
        """Prepares a gateway. `launcher` is a command that runs the program, for example under filters."""
        self.binary = binary
        self.launcher = launcher
        self.options = options
        self.folder = tempfile.mkdtemp(prefix="nightshift-gateway-")
        self.keys = {name: new_key() for name in (KEY, OTHER_KEY, DEVELOPMENT_KEY, SECOND_KEY)}
        self.authority_key = new_key()
        self.authority = certificate(
            self.authority_key, [(NameOID.COMMON_NAME, "Test authority")], is_authority=True)
        self.write("authority.pem", self.authority.public_bytes(serialization.Encoding.PEM))
        self.renew_certificate()
        self.process = None
        self.device_port = 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        # Replace the file atomically, as a program that renews certificates does.
        with open(self.path(name) + ".new", "wb") as file:
            file.write(data)
        os.rename(self.path(name) + ".new", self.path(name))
        return self.path(name)

    def renew_certificate(self):
        key = new_key()
        import ipaddress
        hosts = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        own = certificate(
            key, [(NameOID.COMMON_NAME, "localhost")], issuer=(self.authority_key, self.authority), hosts=hosts)
        self.write("tls.key", pem(key))
        self.write("tls.pem", own.public_bytes(serialization.Encoding.PEM))
        return own.serial_number

    def provider_certificate(self, topics, extensions=(), issuer=True):
        """Writes a certificate for `topics`, and returns its file."""
        key = new_key()
        names = [(NameOID.COMMON_NAME, "Provider")] + [(NameOID.USER_ID, topic) for topic in topics]
        signed = certificate(
            key, names, issuer=(self.authority_key, self.authority) if issuer else None, extensions=extensions)
        return self.write(
            f"provider-{uuid.uuid4()}.pem", pem(key) + signed.public_bytes(serialization.Encoding.PEM))

    def start(self):
        self.process = subprocess.Popen(
            [*self.launcher, self.binary, "run", "--certificate", self.path("tls.pem"), "--key", self.path("tls.key"),
             "--state", self.path("state"), "--providers", "127.0.0.1:0",
             # The port stays the same, so that devices can reconnect.
             "--devices", f"127.0.0.1:{self.device_port}",
             "--status", "127.0.0.1:0", "--provider-authority", self.path("authority.pem"),
             "--public-name", "localhost", *self.options],
            stdout=subprocess.PIPE, stderr=open(self.path("log"), "ab"), text=True, encoding="utf-8")
        line = self.process.stdout.readline()
        ports = dict(re.findall(r"(\w+)=(\d+)", line))
        if "providers" not in ports:
            raise RuntimeError("the gateway did not start: " + open(self.path("log")).read())
        self.port, self.device_port = int(ports["providers"]), int(ports["devices"])
        self.status_port, self.plain_port = int(ports["status"]), int(ports.get("plain", 0))
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait()

    def __enter__(self):
        self.start()
        for team, name in ((TEAM, "Example"), (OTHER_TEAM, "Other")):
            self.admin("team", "add", team, name)
        for name, team, environment in (
                (KEY, TEAM, "any"), (OTHER_KEY, OTHER_TEAM, "any"), (DEVELOPMENT_KEY, TEAM, "development"),
                (SECOND_KEY, TEAM, "any")):
            self.write(name + ".p8", pem(self.keys[name]))
            self.admin("key", "add", name, self.path(name + ".p8"), "--team", team, "--environment", environment)
        self.admin("topic", "add", TOPIC, "--team", TEAM)
        self.admin("topic", "add", OTHER_TOPIC, "--team", OTHER_TEAM)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder)

    def admin(self, *words):
        """Runs a command of the program, and returns its JSON output."""
        result = subprocess.run(
            [self.binary, *words, "--json", "--socket", self.path("state/admin.sock")], capture_output=True, encoding="utf-8")
        if result.returncode:
            raise RuntimeError(result.stderr)
        try:
            return [json.loads(line) for line in result.stdout.split("\n") if line]
        except ValueError:
            raise RuntimeError(f"no JSON: {result.stdout!r} {result.stderr!r}") from None

    def story(self, push):
        """Returns the events of a push from the log."""
        return [entry["event"] for entry in self.admin("push", "show", push)]

    def enrolment_code(self):
        return self.admin("enrolment", "create")[0]["code"]

    def token(self, key=KEY, team=TEAM, age=0, **headers):
        return jwt.encode(
            {"iss": team, "iat": int(time.time()) - age}, self.keys[key], algorithm="ES256",
            headers={"kid": key, **headers})

    def trust(self, certificate_file=None, alpn=("h2",)):
        context = ssl.create_default_context(cafile=self.path("authority.pem"))
        if alpn:
            context.set_alpn_protocols(list(alpn))
        if certificate_file:
            context.load_cert_chain(certificate_file)
        return context

    def status(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.status_port}{path}") as answer:
            return answer.read().decode()
