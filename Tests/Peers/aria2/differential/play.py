#!/usr/bin/env python3
"""Plays the script of RPC calls against one server, or compares the answers of two servers.

Usage:
    play.py --rpc http://127.0.0.1:PORT/jsonrpc --token SECRET --dir DIR --out answers.json
            [--origin URL] [--script script.json] [--sections PATTERN]
    play.py --compare reference.json subject.json --differences differences.json

Without --origin it starts origin.py and ends it. It starts nothing else.
It exits with 1 if a wait of the script did not reach its state, or if the comparison finds a difference that the
list does not name, or if the list names a difference that no longer occurs. It exits with 2 if a file is wrong.

A step is an object with `section`, `name`, and one of these:
    method, params          an RPC call; `token` is added unless it is null or another text; `id` may be given
    multicall               a list of [method, parameter, …], sent as one system.multicall
    http                    a raw request: method, path, query, headers, and text, json or base64 for the body
    ws                      open, call, send, ping, barrier, closed or close, for the connection `client`
    wait                    polls tellStatus of this GID, or method and params, until each path of `until` in the
                            result matches one of its patterns
    write                   a file with `bytes` of the origin's content, or with `text`
    file                    compares a file: `as` is exists, sha256 or text
    clean                   removes all downloads and results
    gone                    waits until the server no longer listens
`save` is the name of the GID that an addUri returns. `varies` lists paths whose types alone are compared.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import compare
import origin as local_origin
from answers import Answer, answer_of, body_of, query_value, reached
from channel import BINARY, PING, TEXT, WebSocket, send, send_json
from placeholders import Variables, generalize

HERE = Path(__file__).resolve().parent
# A busy machine needs more time: PATIENCE multiplies each deadline.
PATIENCE = float(os.environ.get("PATIENCE", "1"))
WAIT_SECONDS = 15.0 * PATIENCE
SHORT_WAIT_SECONDS = 1.0 * PATIENCE
PATIENT_WAITS = 3
POLL_SECONDS = 0.02
PLAY_SECONDS = 240.0 * PATIENCE
OPCODES = {"text": TEXT, "binary": BINARY, "ping": PING}
CALL_KINDS = ("method", "multicall", "http")

Step = dict[str, Any]


class Player:
    """The run of the script against one server."""

    def __init__(self, rpc: str, secret: str, folder: str, origin: str, unreachable: list[str]) -> None:
        self.rpc = rpc
        self.path = urlsplit(rpc).path
        self.variables = Variables(rpc, secret, folder, origin)
        self.sockets: dict[str, WebSocket] = {}
        self.missed: list[str] = []
        # Patterns of steps whose differences are named: their waits may never end.
        self.unreachable = unreachable
        self.calls = 0
        self.end = time.monotonic() + PLAY_SECONDS

    def play(self, steps: list[Step]) -> list[Answer]:
        """Plays all steps and returns their answers."""
        try:
            return [self.play_step(step) for step in steps]
        finally:
            for client in self.sockets.values():
                client.close()

    def play_step(self, step: Step) -> Answer:
        """Plays one step and returns its answer with placeholders."""
        self.name = f"{step['section']}/{step['name']}"
        kind = next(name for name in KINDS if name in step)
        self.calls += kind in CALL_KINDS or step.get("ws") in ("call", "send")
        answer = getattr(self, f"do_{kind}")(self.variables.expand(step))
        if "save" in step:
            body = answer.get("body")
            self.variables.save_gid(step["save"], body.get("result") if isinstance(body, dict) else None)
        return {"step": self.name, "answer": generalize(self.variables.conceal(answer), step.get("varies", []))}

    # Calls

    def request(self, step: Step) -> dict[str, Any]:
        """Returns the JSON-RPC request of a step."""
        token = step.get("token", self.variables.lookup("token"))
        params = [*([] if token is None else [token]), *step.get("params", [])]
        return {"jsonrpc": "2.0", "id": step.get("id", self.name), "method": step["method"], "params": params}

    def do_method(self, step: Step) -> Answer:
        """Makes an RPC call."""
        return answer_of(send_json(self.rpc, self.path, self.request(step)))

    def do_multicall(self, step: Step) -> Answer:
        """Makes several calls in one, each with the token."""
        token = self.variables.lookup("token")
        calls = [{"methodName": method, "params": [token, *params]} for method, *params in step["multicall"]]
        request = {"jsonrpc": "2.0", "id": self.name, "method": "system.multicall", "params": [calls]}
        return answer_of(send_json(self.rpc, self.path, request))

    def do_http(self, step: Step) -> Answer:
        """Sends a raw request."""
        request = step["http"]
        path = request.get("path", self.path)
        if "query" in request:
            path += "?" + "&".join(f"{name}={query_value(value)}" for name, value in request["query"].items())
        method = request.get("method", "POST")
        return answer_of(send(self.rpc, method, path, request.get("headers", {}), body_of(request)))

    # Waits

    def deadline(self, step: Step) -> float:
        """Returns when a step gives up. Steps of a server that has missed several get less time."""
        if any(fnmatchcase(self.name, pattern) for pattern in self.unreachable):
            return min(self.end, time.monotonic() + SHORT_WAIT_SECONDS)
        seconds = step.get("deadline", WAIT_SECONDS) if len(self.missed) < PATIENT_WAITS else SHORT_WAIT_SECONDS
        return min(self.end, time.monotonic() + seconds)

    def do_wait(self, step: Step) -> Answer:
        """Polls until the result has the wanted values."""
        call = step
        if "method" not in step:
            call = {"method": "aria2.tellStatus", "params": [step["wait"], list(step["until"])]}
        deadline = self.deadline(step)
        while True:
            answer = answer_of(send_json(self.rpc, self.path, self.request(call)))
            if reached(answer, step["until"]):
                return {"reached": step["until"]}
            if answer["status"] == "refused" or time.monotonic() > deadline:
                if not any(fnmatchcase(self.name, pattern) for pattern in self.unreachable):
                    self.missed.append(self.name)
                return {"not reached": answer}
            time.sleep(POLL_SECONDS)

    def do_gone(self, step: Step) -> Answer:
        """Waits until the server no longer listens."""
        deadline = self.deadline(step)
        while time.monotonic() < deadline:
            if send(self.rpc, "GET", self.path, {}, None).status == "refused":
                return {"gone": True}
            time.sleep(0.1)
        self.missed.append(self.name)
        return {"gone": False}

    # Cleaning

    def call(self, method: str, *params: Any) -> Any:
        """Makes a call whose answer is not kept, and returns its result."""
        reply = send_json(self.rpc, self.path, self.request({"method": method, "params": list(params)}))
        body = answer_of(reply)["body"]
        return body.get("result") if isinstance(body, dict) else None

    def present(self) -> list[str]:
        """Returns the GIDs that the server has outside of its results."""
        active = self.call("aria2.tellActive", ["gid"]) or []
        waiting = self.call("aria2.tellWaiting", 0, 1000, ["gid"]) or []
        return [entry["gid"] for entry in active + waiting]

    def do_clean(self, step: Step) -> Answer:
        """Removes all downloads and results, so that one section does not depend on another."""
        deadline = self.deadline(step)
        while (left := self.present()) and time.monotonic() < deadline:
            for gid in left:
                self.call("aria2.forceRemove", gid)
            time.sleep(POLL_SECONDS)
        self.call("aria2.purgeDownloadResult")
        if left:
            self.missed.append(self.name)
        return {"left": len(left)}

    # WebSocket

    def do_ws(self, step: Step) -> Answer:
        """Does one thing with a WebSocket connection."""
        client = step.get("client", "a")
        if step["ws"] == "open":
            return self.open_socket(client, step.get("path", self.path))
        if client not in self.sockets:
            return {"no connection": client}
        try:
            return getattr(self, f"ws_{step['ws']}")(self.sockets[client], step)
        except OSError:
            return {"closed": True}

    def open_socket(self, client: str, path: str) -> Answer:
        """Opens a connection."""
        try:
            self.sockets[client] = WebSocket(self.rpc, path)
        except OSError:
            return {"handshake": "refused", "accepted": False}
        return {"handshake": self.sockets[client].status, "accepted": self.sockets[client].accepted}

    def ws_call(self, client: WebSocket, step: Step) -> Answer:
        """Makes a call and keeps the next messages, at least one, in their order."""
        client.send(json.dumps(self.request(step)))
        return self.messages(client, step)

    def ws_send(self, client: WebSocket, step: Step) -> Answer:
        """Sends a frame of any kind."""
        client.send(step["text"], OPCODES[step.get("frame", "text")])
        return self.messages(client, step)

    def messages(self, client: WebSocket, step: Step) -> Answer:
        """Reads as many messages as the step says."""
        deadline = self.deadline(step)
        messages = [client.receive(deadline) for _ in range(step.get("messages", 1))]
        if {"nothing": True} in messages:
            self.missed.append(self.name)
        return {"messages": messages}

    def ws_barrier(self, client: WebSocket, step: Step) -> Answer:
        """Keeps all messages that come before the answer to a call that is sent now."""
        client.send(json.dumps({"jsonrpc": "2.0", "id": "barrier", "method": "system.listNotifications"}))
        deadline = self.deadline(step)
        messages: list[Any] = []
        while True:
            message = client.receive(deadline)
            if isinstance(message, dict) and message.get("id") == "barrier":
                return {"messages": messages}
            messages.append(message)
            if message in ({"nothing": True}, {"closed": True}):
                return {"messages": messages}

    def ws_closed(self, client: WebSocket, step: Step) -> Answer:
        """Waits until the server closes the connection; keeps nothing of what comes before."""
        deadline = self.deadline(step)
        while True:
            message = client.receive(deadline)
            if message in ({"nothing": True}, {"closed": True}):
                return message

    def ws_close(self, client: WebSocket, step: Step) -> Answer:
        """Closes the connection."""
        client.close()
        return {}

    # Files

    def do_write(self, step: Step) -> Answer:
        """Writes a file for later steps."""
        path = Path(step["write"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(step["text"].encode() if "text" in step else local_origin.content(0, step["bytes"]))
        return {}

    def do_file(self, step: Step) -> Answer:
        """Looks at a file."""
        path = Path(step["file"])
        if not path.exists():
            return {"exists": False}
        kind = step.get("as", "exists")
        if kind == "sha256":
            return {"exists": True, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        if kind == "text":
            return {"exists": True, "lines": path.read_text(errors="replace").splitlines()}
        return {"exists": True}


# The first of these that a step has is its kind. Steps with `wait` and `ws` may have a `method` too.
KINDS = ("wait", "ws", "http", "multicall", "method", "write", "file", "clean", "gone")


@contextmanager
def running_origin(url: str | None) -> Iterator[str]:
    """Yields the URL of the origin, and starts one if none is given."""
    if url:
        yield url
        return
    process = subprocess.Popen([sys.executable, HERE / "origin.py"], stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.wait()


def load(path: Path) -> Any:
    """Returns the value of a JSON file."""
    return json.loads(path.read_text())


def chosen_steps(script: Path, pattern: str) -> list[Step]:
    """Returns the steps of the wanted sections; raises ValueError if two steps have one name."""
    steps = load(script)
    names = [f"{step['section']}/{step['name']}" for step in steps]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise ValueError(f"Step names must be unique: {sorted(repeated)}")
    return [step for step in steps if fnmatchcase(step["section"], pattern)]


def play(arguments: argparse.Namespace) -> int:
    """Plays the script and writes the answers."""
    steps = chosen_steps(arguments.script, arguments.sections)
    with running_origin(arguments.origin) as origin:
        entries = load(arguments.differences) if arguments.differences else []
        unreachable = [entry["steps"] for entry in entries if entry["steps"] != "*"]
        player = Player(arguments.rpc, arguments.token, arguments.dir, origin, unreachable)
        answers = player.play(steps)
    document = {"calls": player.calls, "missed": player.missed, "steps": answers}
    arguments.out.write_text(json.dumps(document, indent=1, ensure_ascii=True) + "\n")
    for name in player.missed:
        print("not reached:", name, file=sys.stderr)
    return 1 if player.missed else 0


def compare_files(arguments: argparse.Namespace) -> int:
    """Compares two answers files and prints the differences."""
    reference, subject = (load(path)["steps"] for path in arguments.compare)
    entries = compare.check_entries(load(arguments.differences)) if arguments.differences else []
    verdict = compare.judge(compare.differences(reference, subject), entries)
    compare.report(verdict)
    print(f"{len(reference)} steps, {len(verdict.named)} named differences, {len(verdict.unnamed)} unnamed")
    return 0 if verdict.is_good else 1


def main() -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="Plays RPC calls against one server, or compares two runs.")
    parser.add_argument("--rpc")
    parser.add_argument("--token")
    parser.add_argument("--dir")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--origin")
    parser.add_argument("--script", type=Path, default=HERE / "script.json")
    parser.add_argument("--sections", default="*")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("REFERENCE", "SUBJECT"))
    parser.add_argument("--differences", type=Path)
    arguments = parser.parse_args()
    if not arguments.compare and not all((arguments.rpc, arguments.token, arguments.dir, arguments.out)):
        parser.error("--rpc, --token, --dir and --out are required, or --compare")
    try:
        return compare_files(arguments) if arguments.compare else play(arguments)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
