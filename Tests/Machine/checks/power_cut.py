"""Power cuts at random moments, with everything under way that the service does."""

import re
import shlex
import statistics
import threading
import time
import urllib.parse

from checks import check
from machine import Failure, wait_until
from origin import Content
from pushes import Gateway, verify_pushes
from service import ENDED, Service, download

MIB = 1 << 20
# What one transfer may fetch again after one cut (docs/durability.md), and what the buffers between server and machine hold:
# that counts as sent, and the machine never had it.
AGAIN = 8 * MIB
BUFFERS = MIB
SOURCE = 6 * MIB

APP = "org.example.Keeper"
SCRIPT = """\
#!/bin/sh
# Writes a line for each wake, and ends when the line is on disk.
echo "$NIGHTSHIFT_WAKE sessions=$(echo $NIGHTSHIFT_SESSION | tr ' ' ,) payload=$(test -z "$NIGHTSHIFT_PAYLOAD" || tr -d '\\n' <"$NIGHTSHIFT_PAYLOAD")" >>"$HOME/wakes"
sync "$HOME/wakes"
"""
ENTRY = f"""\
[Desktop Entry]
Type=Application
Name=Keeper
Exec=sleep 600
X-Nightshift-Wake=/home/ada/keeper
X-Nightshift-BackgroundModes=transfer;fetch;remote-notification;
X-Nightshift-FetchInterval=never
"""


class Ledger:
    """What the service has accepted: every answer that it gave before the power went."""

    def __init__(self):
        self.downloads, self.resumable, self.plain = {}, {}, {}
        self.sessions = {}
        self.pushes, self.fetches = [], 0
        self.completed = set()
        # For each file: how often the power was cut while it was under way.
        self.cuts = {}
        self.unanswered = 0
        self.problems = []


class Worker(threading.Thread):
    """Adds work, one piece after the other, until the power goes."""

    def __init__(self, run, ada, gateway, ledger, number, random):
        super().__init__(daemon=True)
        self.run_, self.ada, self.gateway, self.ledger = run, ada, gateway, ledger
        self.number, self.random = number, random
        self.off = threading.Event()

    def run(self):
        jobs = [self.download, self.download, self.session, self.session, self.upload, self.upload, self.plain_upload, self.fetch]
        if self.gateway:
            jobs += [self.push, self.push, self.push]
        self.random.shuffle(jobs)
        for index, job in enumerate(jobs):
            if self.off.is_set():
                return
            try:
                job(index)
                tasks = self.ada.tasks()
                self.ledger.completed |= {number for number, task in tasks.items() if task["state"] == "completed"}
            except Exception as error:  # The power went while the answer was under way.
                if not self.off.is_set():
                    self.off.wait(60)
                    if not self.off.is_set():
                        self.ledger.problems.append(f"round {self.number}: {error}")
                self.ledger.unanswered += 1
                return
            self.off.wait(self.random.uniform(0, 1))

    def name(self, index):
        return f"r{self.number}-{index}.bin"

    def request(self, index):
        name, size = self.name(index), self.random.randrange(2 * MIB, 16 * MIB)
        rate = self.random.choice([MIB // 2, MIB, 2 * MIB, 4 * MIB])
        return name, size, download(self.run_.origin.file_url(name, size, rate), name)

    def download(self, index):
        name, size, request = self.request(index)
        [number] = self.ada.add([request])
        self.ledger.downloads[number] = name, size

    def session(self, index):
        name, size, request = self.request(index)
        [number] = self.ada.add([request], app=APP, session=f"round{self.number}")
        self.ledger.downloads[number] = name, size
        self.ledger.sessions.setdefault(f"round{self.number}", []).append(number)

    def upload(self, index):
        name = self.name(index)
        rate = self.random.choice([MIB // 2, MIB, 2 * MIB])
        [number] = self.ada.add([{"url": self.run_.origin.url(f"/tus/{name}?rate={rate}"), "kind": "upload", "source": "/home/ada/source",
                                  "resumption": "tus", "retryPolicy": "transientResponses"}])
        self.ledger.resumable[number] = name

    def plain_upload(self, index):
        name = self.name(index)
        [number] = self.ada.add([{"url": self.run_.origin.url(f"/put/{name}?rate={2 * MIB}"), "kind": "upload",
                                  "source": "/home/ada/source", "resumption": "plain", "retryPolicy": "transientResponses"}])
        self.ledger.plain[number] = name

    def fetch(self, _):
        status, value = self.ada.call("POST", f"/v1/refresh/{APP}/fetch")
        if status == 0:
            raise Failure("no answer")
        # 409: a fetch runs already.
        if status < 300:
            self.ledger.fetches += 1

    def push(self, index):
        self.ledger.pushes.append(self.gateway.send({"aps": {"content-available": 1, "alert": {"body": self.name(index)}}}))


@check("power-cut", "After power cuts at random, every accepted transfer, wake, push and fetch ends once and whole, and at most 8 MiB per "
       "transfer and cut are fetched again.", in_short_form=True)
def power_cut(run):
    random = run.random("power-cut")
    machine = run.installed_machine("cut", forwards=[2197])
    ada = Service(machine)
    ledger = Ledger()
    source = prepare(run, machine, ada)
    gateway = Gateway(run, machine) if "nightshift-gateway" in run.packages and not run.short else None
    if gateway:
        gateway.set_up()
        gateway.register(ada, APP)
    boots = []
    for number in range(1, run.rounds + 1):
        worker = Worker(run, ada, gateway, ledger, number, random)
        worker.start()
        # Some cuts hit the start of the service, and some find it well under way.
        time.sleep(random.uniform(0, 30) if not run.short else 12)
        worker.off.set()
        machine.cut_power()
        worker.join(120)
        if worker.is_alive():
            raise Failure("a request did not end with the power")
        for name in interrupted(run, ledger):
            ledger.cuts[name] = ledger.cuts.get(name, 0) + 1
        if number % 10 == 0:
            print(f"        round {number}: {len(ledger.downloads)} downloads, {len(ledger.resumable) + len(ledger.plain)} uploads, "
                  f"{len(ledger.sessions)} sessions, {len(ledger.pushes)} pushes, {ledger.fetches} fetches", flush=True)
        boots.append(machine.start())
        errors = machine.output("root", "journalctl -k -b --no-pager --grep 'EXT4-fs error|I/O error' || true")
        if errors and "No entries" not in errors:
            raise Failure(f"round {number}: the file system is damaged: {errors}")
    verify(run, machine, ada, gateway, ledger, source)
    return figures(run, machine, ledger, boots)


def prepare(run, machine, ada):
    """Gives the machine an app, a file to upload, and a user who lingers."""
    source = Content("source", SOURCE)
    machine.run("root", "loginctl enable-linger ada")
    ada.run(f"mkdir -p downloads && curl -sSf -o source {shlex.quote(run.origin.file_url('source', source.size))} && sync source")
    machine.put("/home/ada/keeper", SCRIPT, user="ada", mode="755")
    machine.put(f"/home/ada/{APP}.desktop", ENTRY, user="ada")
    ada.run(f"nightshift app install {APP}.desktop && sync keeper")
    return source.digest()


def interrupted(run, ledger):
    """Returns the names of the transfers that the cut has interrupted after their first byte."""
    sent = {number: run.origin.sent(name) for number, (name, _) in ledger.downloads.items()}
    sent |= {number: run.origin.received[name] for number, name in [*ledger.resumable.items(), *ledger.plain.items()]}
    names = {number: name for number, (name, _) in ledger.downloads.items()} | ledger.resumable | ledger.plain
    return [names[number] for number, count in sent.items() if count > 0 and number not in ledger.completed]


def verify(run, machine, ada, gateway, ledger, source):
    """Waits until everything that was accepted has ended, and compares it with what was served."""
    if ledger.problems:
        raise Failure("; ".join(ledger.problems[:5]))
    accepted = {**ledger.downloads, **ledger.resumable, **ledger.plain}

    def rest():
        tasks = ada.tasks()
        missing = accepted.keys() - tasks.keys()
        if missing:
            raise Failure(f"accepted transfers are gone: {sorted(missing)}")
        return all(task["state"] in ENDED for task in tasks.values()) and tasks

    tasks = wait_until("all transfers have ended", rest, 1200, 3)
    wrong = {number: (task["state"], task.get("error")) for number, task in tasks.items() if task["state"] != "completed"}
    if wrong:
        raise Failure(f"transfers that did not complete: {wrong}")

    # A request whose answer the cut has swallowed may have been accepted. Its file is then whole as well.
    names = {**{name: size for name, size in ledger.downloads.values()}}
    for number, task in tasks.items():
        if task["kind"] == "download" and number not in ledger.downloads:
            url = urllib.parse.urlsplit(task["url"])
            names[url.path.rpartition("/")[2]] = int(urllib.parse.parse_qs(url.query)["size"][0])
    listing = ada.output("cd downloads && find . -type f | sed 's|^./||' | sort", timeout=300).splitlines()
    if sorted(listing) != sorted(names):
        raise Failure(f"files that should not be there: {sorted(set(listing) - set(names))}; missing: {sorted(set(names) - set(listing))}")
    digests = dict(reversed(line.split()) for line in ada.output("cd downloads && sha256sum *", timeout=1200).splitlines())
    broken = [name for name, size in names.items() if digests[name] != Content(name, size).digest()]
    if broken:
        raise Failure(f"files that are not what was served: {broken}")
    for name in [*ledger.resumable.values(), *ledger.plain.values()]:
        if not run.origin.complete[name] or set(run.origin.complete[name]) != {source}:
            raise Failure(f"the server has not got {name} whole: {run.origin.complete[name]}")
    lost = ledger.completed - {number for number, task in tasks.items() if task["state"] == "completed"}
    if lost:
        raise Failure(f"transfers were completed before a cut and not after it: {sorted(lost)}")
    again = {name: count for name, count in fetched_again(run, ledger).items()
             if count > AGAIN * ledger.cuts.get(name, 0) + BUFFERS * len(run.origin.requests[name])}
    if again:
        raise Failure(f"more than 8 MiB per cut were fetched again: { {name: (count, ledger.cuts.get(name)) for name, count in again.items()} }")

    verify_ends(ada, gateway, ledger, accepted)
    ada.run("systemctl --user stop nightshiftd.service nightshiftd.socket")
    state = ada.output("sqlite3 ~/.local/state/nightshift/nightshift.sqlite 'PRAGMA integrity_check; PRAGMA foreign_key_check;'", timeout=300)
    if state != "ok":
        raise Failure(f"the database: {state}")
    leftovers = ada.output("ls -A ~/.local/state/nightshift/partials")
    if leftovers:
        raise Failure(f"partial files of no transfer: {leftovers}")
    ada.run("systemctl --user start nightshiftd.socket")
    if sum(report["lost"] for report in machine.disk_reports) == 0 and run.rounds >= 10:
        raise Failure("the disk lost nothing in any cut, so that this check shows nothing")


def verify_ends(ada, gateway, ledger, accepted):
    """Compares the journal's ends with what was accepted: each ends once."""

    def pending():
        app = ada.ask("GET", f"/v1/apps/{APP}")
        return not app["wakes"] and app["state"] in {"notRunning", "suspended"}

    journal = ada.journal()
    ends = {}
    for entry in journal:
        if entry["decision"] in {"completed", "failed", "cancelled"} and "task" in entry:
            ends[entry["task"]] = ends.get(entry["task"], 0) + 1
    twice = {number: ends.get(number, 0) for number in accepted if ends.get(number, 0) != 1}
    if twice:
        raise Failure(f"transfers whose end the journal does not have once: {twice}")

    def woken_for_all():
        lines = ada.output("cat wakes 2>/dev/null || true", timeout=120)
        missing = set(ledger.sessions) - {session for found in re.findall(r"sessions=(\S*)", lines) for session in found.split(",")}
        return not missing and lines

    woken = wait_until("the app is woken for each session", woken_for_all, 300, 3)
    wait_until("no wake of the app is waiting", pending, 900, 3)
    journal = ada.journal()
    began = sum(entry["decision"] == "fetchBegan" for entry in journal)
    ended = sum(entry["decision"] == "fetchEnded" for entry in journal)
    if began < ledger.fetches or began != ended:
        raise Failure(f"{ledger.fetches} fetches were accepted, {began} began, {ended} ended")
    if gateway:
        verify_pushes(ada, APP, ledger.pushes)


def fetched_again(run, ledger):
    """Returns the bytes beyond the size of each download and each resumable upload."""
    again = {name: run.origin.sent(name) - size for name, size in ledger.downloads.values()}
    again |= {name: run.origin.received[name] - SOURCE for name in ledger.resumable.values()}
    return again


def figures(run, machine, ledger, boots):
    again = fetched_again(run, ledger)
    hit = {name: count for name, count in ledger.cuts.items() if name in again}
    worst = max((again[name] / count for name, count in hit.items()), default=0)
    disk = {key: sum(report[key] for report in machine.disk_reports if report["cut"]) for key in ["lost", "kept", "older"]}
    sends = sum(len(run.origin.complete[name]) for name in ledger.plain.values())
    return (f"{run.rounds} cuts; accepted: {len(ledger.downloads)} downloads, {len(ledger.resumable) + len(ledger.plain)} uploads, "
            f"{len(ledger.sessions)} sessions, {len(ledger.pushes)} pushes, {ledger.fetches} fetches; "
            f"{sum(hit.values())} interruptions cost {sum(again[name] for name in hit) / MIB:.1f} MiB, "
            f"at most {worst / MIB:.1f} MiB per transfer and cut; {len(ledger.plain)} uploads that cannot resume arrived {sends} times; "
            f"of the blocks that were not flushed the disk lost {disk['lost']}, kept {disk['kept']}, and kept {disk['older']} in an older "
            f"version; boots took {statistics.median(boots):.0f} s")
