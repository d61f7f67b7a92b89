#!/usr/bin/env python3
"""Podcasts that download themselves: an app in Python that uses the service's API.

    podcasts.py URL...   requests episodes, and exits
    (woken)              stores the episodes that arrived, and reports failures; exit status 0 confirms all of them
"""

import http.client
import json
import os
import pathlib
import shutil
import socket
import sys
import urllib.parse

APP = "org.example.Podcasts"
SESSION = "episodes"
LIBRARY = pathlib.Path(os.environ.get("PODCASTS_DIRECTORY", pathlib.Path.home() / "Podcasts"))


class Service(http.client.HTTPConnection):
    """A connection to the service's local API, which is HTTP on a Unix socket."""

    def __init__(self):
        super().__init__("localhost")

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path())

    @staticmethod
    def path():
        """Returns the socket's path. The service passes it to programs that it launches. For others, XDG defines it."""
        if "NIGHTSHIFT_SOCKET" in os.environ:
            return os.environ["NIGHTSHIFT_SOCKET"]
        if "NIGHTSHIFT_HOME" in os.environ:
            return os.path.join(os.environ["NIGHTSHIFT_HOME"], "run/nightshift.sock")
        state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
        return os.path.join(os.environ.get("XDG_RUNTIME_DIR") or state, "nightshift/nightshift.sock")

    def call(self, method, path, body=None):
        headers = {"Content-Type": "application/json"} if body is not None else {}
        self.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = self.getresponse()
        document = json.loads(answer.read() or "null")
        if answer.status >= 400:
            raise RuntimeError(document.get("detail") or document["title"])
        return document


def ask(urls):
    tasks = [{"url": url, "description": url.rsplit("/", 1)[-1]} for url in urls]
    ids = Service().call("POST", "/v1/tasks", {"app": APP, "session": SESSION, "tasks": tasks})["ids"]
    print(f"{len(ids)} episodes were requested.")


def take():
    LIBRARY.mkdir(parents=True, exist_ok=True)
    notes = LIBRARY / ".taken"
    taken = set(notes.read_text().split()) if notes.exists() else set()
    name = urllib.parse.quote(f"{APP}:{SESSION}", safe="")
    path = f"/v1/tasks?session={name}&state=completed,failed,cancelled&limit=1000"
    for task in Service().call("GET", path)["tasks"]:
        if str(task["id"]) in taken:
            continue
        if task["state"] == "completed":
            # The file is copied, not moved: until this script succeeds, the service keeps its file for another try.
            shutil.copy(task["file"], LIBRARY / task["description"])
            print(f"new: {task['description']}")
        else:
            print(f"not here: {task['description']}: {task['error']['message']}", file=sys.stderr)
        with notes.open("a") as file:
            file.write(f"{task['id']}\n")


def main():
    if "NIGHTSHIFT_WAKE" in os.environ:
        take()
    elif len(sys.argv) > 1:
        ask(sys.argv[1:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
