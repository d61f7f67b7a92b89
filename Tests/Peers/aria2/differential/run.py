#!/usr/bin/env python3
"""Plays the script against a real aria2c and against a subject at the same time, and compares the answers.

Usage: run.py --subject 'COMMAND --port {port} --secret {secret} --dir {dir}' [--reference COMMAND]
              [--differences differences.json] [--sections PATTERN] [--keep DIR]

Each command is split like a shell command, and {port}, {secret}, {dir} are replaced.
It exits with 0 if every difference is named and every name is used, with 1 if not, and with 2 if it could not run.
All processes end with it, also after an exception or SIGTERM. With --keep, the answers and the outputs of the
servers stay in that folder.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import compare
from play import HERE, load, running_origin

REFERENCE = (
    "aria2c --enable-rpc --rpc-listen-port={port} --rpc-secret={secret} --dir={dir} --no-conf --disable-ipv6"
)
PATIENCE = float(os.environ.get("PATIENCE", "1"))
LISTEN_SECONDS = 30.0 * PATIENCE
END_SECONDS = 20.0 * PATIENCE
PLAY_SECONDS = 300.0 * PATIENCE


class CannotRun(Exception):
    """A server or a play that did not start or did not end."""


def free_port() -> int:
    """Returns a port of 127.0.0.1 that is free now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start(stack: ExitStack, command: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Starts a process in a session of its own, which ends with the stack."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    stack.callback(end, process)
    return process


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that this program started, and then what is left of its session."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Side:
    """One of the two servers, and the play against it."""

    def __init__(self, name: str, template: str, folder: Path) -> None:
        self.name = name
        self.port = free_port()
        self.secret = secrets.token_hex(8)
        self.downloads = folder / name
        self.downloads.mkdir()
        self.answers = folder / f"{name}.json"
        self.server_log = folder / f"{name}-server.log"
        self.play_log = folder / f"{name}-play.log"
        places = {"{port}": str(self.port), "{secret}": self.secret, "{dir}": str(self.downloads)}
        self.command = [fill(part, places) for part in shlex.split(template)]

    def start_server(self, stack: ExitStack) -> None:
        """Starts the server."""
        try:
            self.server = start(stack, self.command, self.server_log)
        except OSError as error:
            raise CannotRun(f"The {self.name} does not start: {error}") from error

    def wait_until_it_listens(self) -> None:
        """Waits until the server accepts connections."""
        deadline = time.monotonic() + LISTEN_SECONDS
        while time.monotonic() < deadline and self.server.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        output = self.server_log.read_text(errors="replace")[-2000:]
        raise CannotRun(f"The {self.name} does not listen on port {self.port}. Its output ends with:\n{output}")

    def start_play(self, stack: ExitStack, origin: str, sections: str, differences: Path | None) -> None:
        """Starts the play against the server."""
        command = [sys.executable, "-B", str(HERE / "play.py"), "--rpc", f"http://127.0.0.1:{self.port}/jsonrpc"]
        command += ["--token", self.secret, "--dir", str(self.downloads), "--origin", origin]
        command += ["--out", str(self.answers), "--sections", sections]
        if differences:
            command += ["--differences", str(differences)]
        self.play = start(stack, command, self.play_log)

    def wait_for_play(self) -> int:
        """Waits until the play has ended and returns its exit status."""
        try:
            status = self.play.wait(PLAY_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise CannotRun(f"The play against the {self.name} did not end.") from error
        if not self.answers.exists():
            raise CannotRun(f"The play against the {self.name} failed:\n{self.play_log.read_text()}")
        return status


def fill(text: str, places: dict[str, str]) -> str:
    """Returns one part of a command with the values of this run."""
    for place, value in places.items():
        text = text.replace(place, value)
    return text


def run(arguments: argparse.Namespace, folder: Path) -> int:
    """Plays against both servers and reports."""
    entries = compare.check_entries(load(arguments.differences))
    sides = [Side("reference", arguments.reference, folder), Side("subject", arguments.subject, folder)]
    with ExitStack() as stack:
        origin = stack.enter_context(running_origin(None))
        for side in sides:
            side.start_server(stack)
        for side in sides:
            side.wait_until_it_listens()
            side.start_play(stack, origin, arguments.sections, arguments.differences if side is sides[1] else None)
        statuses = [side.wait_for_play() for side in sides]
    if statuses[0] != 0:
        raise CannotRun(f"The reference did not reach a state:\n{sides[0].play_log.read_text()}")
    return judge(sides, entries, arguments.sections == "*")


def judge(sides: list[Side], entries: list[dict[str, str]], is_whole: bool) -> int:
    """Compares the answers of both sides, prints a summary, and returns the exit status."""
    reference, subject = (load(side.answers) for side in sides)
    verdict = compare.judge(compare.differences(reference["steps"], subject["steps"]), entries)
    if not is_whole:
        verdict.unused.clear()
    compare.report(verdict)
    counts = f"{len(reference['steps'])} steps, {reference['calls']} calls"
    print(f"{counts}, {len(verdict.named)} named differences, {len(verdict.unnamed)} unnamed")
    return 0 if verdict.is_good else 1


def leave(number: int, _: object) -> None:
    """Leaves through every cleaning step; later signals must not interrupt those."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def main() -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="Compares the RPC answers of a subject with those of aria2c.")
    parser.add_argument("--subject", required=True)
    parser.add_argument("--reference", default=REFERENCE)
    parser.add_argument("--differences", type=Path, default=HERE / "differences.json")
    parser.add_argument("--sections", default="*", help="pattern of the sections to play; then unused names are fine")
    parser.add_argument("--keep", type=Path, help="folder for the answers and the outputs of the servers")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, leave)
    with tempfile.TemporaryDirectory(prefix="aria2-diff-") as temporary:
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=arguments.keep)) if arguments.keep else Path(temporary)
        try:
            return run(arguments, folder.resolve())
        except (CannotRun, ValueError, OSError) as error:
            print(error, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main())
