"""A user's service in the machine, through its API and its command line."""

import json
import shlex

from machine import STEP, Failure, wait_until

SOCKET = "$XDG_RUNTIME_DIR/nightshift/nightshift.sock"
ENDED = {"completed", "failed", "cancelled"}


class Service:
    """The service of one user. Every call opens the user's session on the machine if none is open."""

    def __init__(self, machine, user="ada"):
        self.machine, self.user = machine, user

    def run(self, command, **options):
        return self.machine.run(self.user, command, **options)

    def output(self, command, **options):
        return self.machine.output(self.user, command, **options)

    def call(self, method, path, body=None, timeout=STEP):
        """Sends one request to the API. Returns its status and its JSON value. Status 0 means that no answer came."""
        command = f"curl -sS -X {method} --unix-socket {SOCKET} --max-time {timeout} -w '\\n%{{http_code}}' {shlex.quote('http://localhost' + path)}"
        options = {}
        if body is not None:
            command += " -H 'Content-Type: application/json' --data-binary @-"
            options["input"] = json.dumps(body).encode()
        result = self.run(command, check=False, timeout=timeout + 60, **options)
        text, _, status = result.output.rpartition("\n")
        if result.status != 0 or not status.isdigit():
            return 0, result
        return int(status), json.loads(text) if text.strip() else None

    def ask(self, method, path, body=None, **options):
        """Sends one request, and fails when it is refused."""
        status, value = self.call(method, path, body, **options)
        if not 200 <= status < 300:
            raise Failure(f"{method} {path}: {status} {value}")
        return value

    def pages(self, path, key, number):
        """Returns all items of a list in pages."""
        items, after = [], 0
        while True:
            joint = "&" if "?" in path else "?"
            page = self.ask("GET", f"{path}{joint}limit=1000&after={after}")
            items += page[key]
            if not page[key] or page.get("next") is None:
                return items
            after = page[key][-1][number]

    def tasks(self):
        """Returns the status of every transfer by its number."""
        return {task["id"]: task for task in self.pages("/v1/tasks", "tasks", "id")}

    def journal(self):
        return self.pages("/v1/journal", "entries", "id")

    def add(self, requests, **owner):
        """Adds transfers, for the session of an app if `app` and `session` are given. Returns their numbers."""
        return self.ask("POST", "/v1/tasks", {"tasks": requests} | owner)["ids"]

    def await_task(self, number, states=ENDED, timeout=600):
        """Returns the status of a transfer when it is in one of the states."""

        def look():
            task = self.ask("GET", f"/v1/tasks/{number}")
            return task if task["state"] in states else None

        return wait_until(f"transfer {number} is {' or '.join(sorted(states))}", look, timeout, 1)

    def await_bytes(self, number, count, timeout=300):
        """Waits until a transfer has received a number of bytes."""

        def look():
            task = self.ask("GET", f"/v1/tasks/{number}")
            return task if task["countOfBytesReceived"] >= count or task["state"] in ENDED else None

        return wait_until(f"transfer {number} has {count} bytes", look, timeout, 0.5)

    def digest(self, path):
        return self.output(f"sha256sum {shlex.quote(path)}", timeout=600).split()[0]

    def process(self):
        """Returns the main process of the unit, or 0."""
        return int(self.output("systemctl --user show --property MainPID --value nightshiftd.service") or 0)


def download(url, filename, directory="/home/ada/downloads", **more):
    return {"url": url, "destination": {"directory": directory, "filename": filename}, "retryPolicy": "transientResponses",
            "failsOnHTTPError": True} | more
