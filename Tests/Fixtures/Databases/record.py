#!/usr/bin/env python3
"""Records the database of a version as a fixture for EarlierVersionTests: runs its programs, kills the service, and copies what it has written.

Usage: record.py FOLDER-OF-PROGRAMS NAME

Writes NAME.sqlite, and NAME.json with what the version's own API said about it. Uses only commands that every version has.
"""

import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

HOME = Path("/tmp/nightshift-fixture")
APP = "org.example.Photos"
ENTRY = f"""\
[Desktop Entry]
Type=Application
Name=Photos
Exec=sleep 600
X-Nightshift-BackgroundModes=transfer;fetch;location;remote-notification;
X-Nightshift-LocationReason=To sort your photos.
"""


class Origin(http.server.BaseHTTPRequestHandler):
    """Serves /file at once, and /slow so slowly that it is under way when the service is killed. Every other path is missing."""

    def do_GET(self):
        if self.path not in ("/file", "/slow", "/paused"):
            return self.send_error(404)
        body = bytes(range(256)) * 16 * (1 if self.path == "/file" else 2048)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"version"')
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        for start in range(0, len(body), 65_536):
            try:
                self.wfile.write(body[start:start + 65_536])
            except ConnectionError:
                return
            if self.path != "/file":
                time.sleep(0.05)

    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.end_headers()

    def log_message(self, *_):
        pass


def kill_all():
    """Kills the service, the app and its log keeper: the processes whose home is that of this script."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"HOME={HOME}".encode() in (process / "environ").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            pass


def main(programs, name):
    shutil.rmtree(HOME, ignore_errors=True)
    (HOME / "run").mkdir(parents=True, mode=0o700)
    HOME.chmod(0o700)
    # Nothing listens on this port where the tests run, and nothing can without root.
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 9), Origin)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_port}"
    environment = {"HOME": str(HOME), "XDG_RUNTIME_DIR": str(HOME / "run"), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}

    def run(*arguments, status=0):
        result = subprocess.run([programs / "nightshift", *arguments], cwd=HOME, env=environment, capture_output=True, text=True, timeout=120)
        if result.returncode != status:
            sys.exit(f"record: nightshift {' '.join(arguments)}: status {result.returncode}, {result.stderr}")
        return result.stdout

    def ask(path):
        result = subprocess.run(["curl", "-sSf", "--unix-socket", HOME / "run/nightshift/nightshift.sock", f"http://localhost{path}"],
                                capture_output=True, check=True)
        return json.loads(result.stdout)

    (HOME / "photo.jpg").write_bytes(b"photo" * 1000)
    (HOME / f"{APP}.desktop").write_text(ENTRY)
    run("get", "-q", f"{origin}/file")
    run("get", "-q", f"{origin}/missing", status=1)
    run("put", "-q", "photo.jpg", f"{origin}/upload")
    run("get", "--detach", "-o", "slow.bin", f"{origin}/slow")
    paused = run("get", "--detach", "-H", "X-Secret: 1", "--user", "ada:secret", "--mirror", f"{origin}/mirror", f"{origin}/paused").strip()
    run("pause", paused)
    run("get", "--detach", "--not-before", "+2d", "--discretionary", "--minimum-battery", "40", "--limit-rate", "1M", f"{origin}/later")
    run("limit", "20M")
    run("device", "policy", "contiguous")
    run("app", "install", f"{APP}.desktop")
    run("app", "location", APP, "--always")
    run("region", "add", "home", "52.5163,13.3777", "300", "--app", APP)
    run("get", "--detach", "--app", APP, "--session", "photos", "-o", "session.bin", f"{origin}/file")
    run("app", "launch", APP)
    run("app", "background", APP)
    # The slow download has to have synced some bytes.
    deadline = time.monotonic() + 60
    while not any(task["url"].endswith("/slow") and task["countOfBytesReceived"] > 1_000_000 for task in ask("/v1/tasks")["tasks"]):
        if time.monotonic() > deadline:
            sys.exit("record: the slow download has received nothing")
        time.sleep(0.2)
    said = {
        "entry": ENTRY,
        "tasks": [{key: task[key] for key in ("id", "url", "kind", "state")} for task in ask("/v1/tasks")["tasks"]],
        "apps": [app["id"] for app in ask("/v1/apps")["apps"]],
        "regions": [region["region"]["identifier"] for region in ask(f"/v1/location/{APP}")["regions"]],
    }
    kill_all()
    folder = Path(__file__).parent
    database, target = HOME / ".local/state/nightshift/nightshift.sqlite", folder / f"{name}.sqlite"
    target.unlink(missing_ok=True)
    # VACUUM INTO reads the write-ahead log too.
    subprocess.run(["sqlite3", database, f"VACUUM INTO '{target}'"], check=True)
    (folder / f"{name}.json").write_text(json.dumps(said, indent=2) + "\n")
    print(f"Recorded {target.name}, {target.stat().st_size} bytes, with {len(said['tasks'])} transfers.")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        main(Path(sys.argv[1]).resolve(), sys.argv[2])
    finally:
        kill_all()
