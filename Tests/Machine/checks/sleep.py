"""Sleep, and apps that are frozen."""

import json
import time

from checks import check
from checks.sessions import MIB, check_file, daemons_of
from machine import Failure, wait_until
from service import Service, download


@check("suspend", "A download continues after suspend to RAM, whole, whether its connection has survived the sleep or not.")
def suspend(run):
    machine = run.installed_machine("suspend")
    ada = Service(machine)
    size, rate = 32 * MIB, MIB // 4
    ada.run("mkdir -p downloads")
    process = ada.process()
    figures = []
    for name, breaks in [("asleep.bin", False), ("cut.bin", True)]:
        [number] = ada.add([download(run.origin.file_url(name, size, rate), name)])
        ada.await_bytes(number, MIB)
        machine.suspend()
        if breaks:
            # As in another network: the server has forgotten the connection when the machine wakes.
            run.origin.disconnect()
        # The machine sleeps for some time; nothing is awaited.
        time.sleep(15)
        sent = run.origin.furthest(name)
        run.origin.hurry(name)
        if sent >= size:
            raise Failure("the download was complete before the machine woke")
        woken = time.monotonic()
        machine.wake()
        wait_until("the download continues after the wake", lambda: run.origin.furthest(name) > sent + MIB, 180)
        figures.append(f"{time.monotonic() - woken:.0f} s")
        check_file(run, ada, ada.await_task(number), name, size)
        again = run.origin.sent(name) - size
        if again > 8 * MIB:
            raise Failure(f"{again} bytes of {name} were fetched again after a sleep")
        figures.append(f"{max(0, again) / MIB:.1f} MiB again")
    changes = [entry.get("detail", "") for entry in ada.journal() if entry["decision"] == "deviceChanged"]
    sleeps = sum("sleeping: no → yes" in change for change in changes)
    wakes = sum("sleeping: yes → no" in change for change in changes)
    if sleeps < 2 or wakes < 2:
        raise Failure(f"the journal has {sleeps} sleeps and {wakes} wakes of two: {changes}")
    if ada.process() != process:
        raise Failure("the service was restarted by the sleep")
    return "continued after " + ", ".join(figures) + " (connection kept, then broken)"


APP = "org.example.Sleeper"
# One child in the app's own process group, and one that has left it: a signal to the group does not reach that one.
SCRIPT = """\
#!/bin/sh
count() { i=0; while :; do i=$((i + 1)); echo $i >"$HOME/count-$1.new"; mv "$HOME/count-$1.new" "$HOME/count-$1"; sleep 0.05; done; }
if [ "$1" = child ]; then count child; fi
setsid "$0" child &
count app
"""


@check("freeze", "An app is frozen with all of its children below the user's delegated cgroup, and thawed when the service is killed.")
def freeze(run):
    machine = run.installed_machine("freeze")
    ada = Service(machine)
    machine.put("/home/ada/sleeper", SCRIPT, user="ada", mode="755")
    machine.put(f"/home/ada/{APP}.desktop", f"[Desktop Entry]\nType=Application\nName=Sleeper\nExec=/home/ada/sleeper\n"
                "X-Nightshift-BackgroundModes=transfer;\n", user="ada")
    ada.run(f"nightshift app install {APP}.desktop")
    process = ada.ask("POST", f"/v1/apps/{APP}/launch", {})["processID"]

    def counts():
        return tuple(int(ada.output(f"cat count-{name} 2>/dev/null || echo 0") or 0) for name in ["app", "child"])

    def moves(before):
        now = counts()
        return now[0] > before[0] and now[1] > before[1]

    wait_until("the app and its child count", lambda: min(counts()) > 0)
    group = ada.output(f"cut -d: -f3 /proc/{process}/cgroup")
    manager = f"/user.slice/user-1000.slice/user@1000.service/"
    if not group.startswith(manager):
        raise Failure(f"the app runs in {group}, not below {manager}")
    events = f"/sys/fs/cgroup{group}/cgroup.events"
    ada.ask("POST", f"/v1/apps/{APP}/background")
    started = time.monotonic()
    wait_until("the app is suspended", lambda: ada.ask("GET", f"/v1/apps/{APP}")["state"] == "suspended", 120)
    seconds = time.monotonic() - started
    if "frozen 1" not in ada.output(f"cat {events}"):
        raise Failure(f"{events}: {ada.output(f'cat {events}')}")
    before = counts()
    time.sleep(3)
    if counts() != before:
        raise Failure("the app or its child runs while it is suspended")
    ada.ask("POST", f"/v1/apps/{APP}/activate")
    wait_until("both run again", lambda: moves(before))

    ada.ask("POST", f"/v1/apps/{APP}/background")
    wait_until("the app is suspended again", lambda: "frozen 1" in ada.output(f"cat {events}"), 120)
    before = counts()
    [daemon] = daemons_of(machine, "ada")
    machine.run("root", f"kill -9 {daemon}")
    wait_until("the app runs after the service was killed", lambda: moves(before))
    wait_until("the unit starts again", lambda: daemons_of(machine, "ada") not in ([], [daemon]), 180)
    app = ada.ask("GET", f"/v1/apps/{APP}")
    if app.get("processID") != process:
        raise Failure(f"the next service did not adopt the app: {json.dumps(app)}")
    ada.ask("POST", f"/v1/apps/{APP}/kill")
    return f"frozen after {seconds:.0f} s in the background, in {group.removeprefix(manager)}"
