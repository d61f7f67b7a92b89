"""Logins, lingering and socket activation; the printed instruction; the journal; other users."""

import re
import shlex
import time

from checks import check
from machine import Failure, wait_until
from origin import Content
from service import Service, download

MIB = 1 << 20


def processes_of(machine, user):
    """Returns the pids and names of a user's processes."""
    return machine.output("root", f"ps -u {user} -o pid=,comm= || true").split("\n") if \
        machine.output("root", f"ps -u {user} -o pid= || true") else []


def daemons_of(machine, user):
    return machine.output("root", f"pgrep -u {user} -x nightshiftd || true").split()


@check("socket-activation", "Where the unit does not run, the first command starts it through its socket, inside the unit's cgroup.")
def socket_activation(run):
    machine = run.installed_machine("activation")
    ada = Service(machine)
    ada.run("systemctl --user stop nightshiftd.service")
    if ada.process() != 0:
        raise Failure("the service runs after it was stopped")
    state = ada.output("systemctl --user is-active nightshiftd.socket", check=False)
    if state != "active":
        raise Failure(f"nightshiftd.socket is {state} after a login")
    ada.run("nightshift list")
    process = ada.process()
    group = ada.output(f"cat /proc/{process}/cgroup") if process else "none"
    if "nightshiftd.service" not in group:
        raise Failure(f"'nightshift list' did not start the unit: its process is {process}, in {group}")
    if daemons_of(machine, "ada") != [str(process)]:
        raise Failure(f"more than one service runs: {daemons_of(machine, 'ada')}")
    ada.run("nightshift status")
    return "the first 'nightshift list' started the unit"


@check("linger", "Without lingering, log-out stops the service and keeps its transfers. With lingering, it continues without a login, "
       "also after a reboot.")
def linger(run):
    machine = run.installed_machine("linger")
    ada = Service(machine)
    size, rate = 24 * MIB, MIB // 8
    ada.run("mkdir -p downloads")
    [first] = ada.add([download(run.origin.file_url("logout.bin", size, rate), "logout.bin")])
    ada.await_bytes(first, MIB // 2)
    machine.log_out("ada")
    started = time.monotonic()
    wait_until("the service ends after the log-out", lambda: not daemons_of(machine, "ada"), 120)
    stopped = time.monotonic() - started
    wait_until("ada's processes end", lambda: not processes_of(machine, "ada"), 120)
    sent = run.origin.sent("logout.bin")
    time.sleep(3)
    if run.origin.sent("logout.bin") != sent or sent >= size:
        raise Failure("the transfer continued after the log-out")

    # The next login starts it again.
    ada.run("true")
    wait_until("the login starts the service", lambda: daemons_of(machine, "ada"), 120)
    run.origin.hurry("logout.bin")
    task = ada.await_task(first)
    check_file(run, ada, task, "logout.bin", size)
    again = run.origin.sent("logout.bin") - size
    if again > MIB:
        raise Failure(f"{again} bytes were fetched again after a log-out, which is announced")

    machine.run("root", "loginctl enable-linger ada")
    [second] = ada.add([download(run.origin.file_url("linger.bin", size, rate), "linger.bin")])
    ada.await_bytes(second, MIB // 2)
    before = daemons_of(machine, "ada")
    machine.log_out("ada")
    progress = run.origin.sent("linger.bin")
    wait_until("the transfer continues after the log-out", lambda: run.origin.sent("linger.bin") > progress + MIB, 120)
    if daemons_of(machine, "ada") != before:
        raise Failure("the service was restarted by the log-out, although the user lingers")

    seconds = machine.reboot()
    wait_until("the service runs after the reboot", lambda: daemons_of(machine, "ada"), 300)
    sessions = machine.output("root", "loginctl list-sessions --no-legend | grep -w ada || true")
    if sessions:
        raise Failure(f"ada has logged in: {sessions}")
    progress = run.origin.sent("linger.bin")
    wait_until("the transfer continues after the reboot without a login",
               lambda: run.origin.sent("linger.bin") > progress, 120)
    run.origin.hurry("linger.bin")
    wait_until("the file is complete without a login",
               lambda: machine.run("root", "test -e /home/ada/downloads/linger.bin", check=False).status == 0, 300, 1)
    sessions = machine.output("root", "loginctl list-sessions --no-legend | grep -w ada || true")
    if sessions:
        raise Failure(f"ada has logged in: {sessions}")
    check_file(run, ada, ada.await_task(second), "linger.bin", size)
    return (f"stopped {stopped:.0f} s after the log-out, {max(0, again)} bytes fetched again; reboot in {seconds:.0f} s, "
            f"{max(0, run.origin.sent('linger.bin') - size)} bytes fetched again")


def check_file(run, service, task, name, size):
    if task["state"] != "completed":
        raise Failure(f"{name} is {task['state']}: {task}")
    if service.digest(f"downloads/{name}") != Content(name, size).digest():
        raise Failure(f"{name} is not the file that was served")


@check("enable-after-use", "After a first `nightshift get` without units, the printed `systemctl --user enable --now nightshiftd.service` works.")
def enable_after_use(run):
    machine = run.installed_machine("enable")
    # As a user finds it whose distribution does not enable user units.
    machine.run("root", "systemctl --global disable nightshiftd.service nightshiftd.socket")
    machine.log_out("ada")
    ada = Service(machine)
    wait_until("no service of ada runs", lambda: not daemons_of(machine, "ada"), 120)
    size = 16 * MIB
    ada.run("systemctl --user daemon-reload; mkdir -p downloads")
    url = run.origin.file_url("enable.bin", size, MIB // 8)
    number = int(ada.output(f"nightshift get --detach -d downloads {shlex.quote(url)}").split()[0])
    ada.await_bytes(number, MIB // 2)
    result = ada.run("systemctl --user enable --now nightshiftd.service", check=False, timeout=180)
    states = ada.output("systemctl --user is-active nightshiftd.service nightshiftd.socket", check=False).split()
    if result.status != 0 or states != ["active", "active"]:
        raise Failure(f"enable --now: {result}; service and socket are {states}")
    process = ada.process()
    if daemons_of(machine, "ada") != [str(process)]:
        raise Failure(f"the unit's service is {process}, and these run: {daemons_of(machine, 'ada')}")
    if "nightshiftd.service" not in ada.output(f"cat /proc/{process}/cgroup"):
        raise Failure("the service is not in its unit's cgroup")
    run.origin.hurry("enable.bin")
    check_file(run, ada, ada.await_task(number), "enable.bin", size)
    # The manager of a user who does not linger ends with the last session.
    machine.log_out("ada")
    wait_until("ada's manager ends after the log-out", lambda: not processes_of(machine, "ada"), 120)
    return "one service, in the unit"


# Lines of Nightshift's own that a person could not explain, and lines of systemd about it.
UNTIDY = [
    (re.compile(r"Failed to set thread priority"), "libdispatch"),
    (re.compile(r"(?i)left-over process"), "systemd"),
    (re.compile(r"(?i)dumped core|segfault|traps: nightshift|type=1326"), "a crash"),
    (re.compile(r" nightshift[\w-]*\[\d+\]: \d{4}-\d\d-\d\dT"), "a second timestamp"),
    (re.compile(r"nightshift.*(?:Main process exited|Failed with result|Scheduled restart)"), "a failed unit"),
]


def untidy_lines(machine):
    text = machine.output("root", "journalctl -b --no-pager --output=short", timeout=300)
    found = {}
    for line in text.splitlines():
        for pattern, what in UNTIDY:
            if pattern.search(line):
                found.setdefault(what, []).append(line)
    return found


@check("journal", "After ordinary work the system's journal has no line that nobody can explain.")
def journal(run):
    machine = run.installed_machine("journal")
    ada = Service(machine)
    app = "org.example.Tidy"
    machine.put(f"/home/ada/{app}.desktop", "[Desktop Entry]\nType=Application\nName=Tidy\nExec=sleep 300\n"
                "X-Nightshift-BackgroundModes=transfer;\n", user="ada")
    url = run.origin.file_url("tidy.bin", 2 * MIB)
    ada.run(f"mkdir -p downloads; nightshift get -q -d downloads {shlex.quote(url)}; nightshift list --all; nightshift doctor; "
            f"nightshift app install {app}.desktop; nightshift app launch {app}; nightshift status", timeout=300)
    # A restart below a running app, and a log-out below another.
    ada.run("systemctl --user restart nightshiftd.service; nightshift status", timeout=180)
    machine.log_out("ada")
    wait_until("ada's processes end", lambda: not processes_of(machine, "ada"), 180)
    ada.run("nightshift app list")
    lines = untidy_lines(machine)
    own = int(machine.output("root", "journalctl -b --no-pager --output=cat -t nightshift -t nightshiftd | wc -l"))
    if lines:
        raise Failure("; ".join(f"{what}: {len(found)} lines, such as {found[0]!r}" for what, found in lines.items()))
    return f"{own} lines of Nightshift"


@check("other-user", "A second user reaches neither the socket, the page, the files, the journal nor the secrets of the first.")
def other_user(run):
    machine = run.installed_machine("users")
    ada, eve = Service(machine), Service(machine, "eve")
    size = 8 * MIB
    ada.run("mkdir -p downloads")
    secret = "s3cret-token"
    [number] = ada.add([download(run.origin.file_url("private.bin", size, MIB // 16), "private.bin",
                                 headers=[{"name": "Authorization", "value": f"Bearer {secret}"}])])
    ada.await_bytes(number, MIB // 4)
    runtime = ada.output("echo $XDG_RUNTIME_DIR")
    page = ada.output("nightshift page --no-open", timeout=180)
    address = re.search(r"http://127\.0\.0\.1:(\d+)/\S*", page)
    if not address:
        raise Failure(f"the page has no address: {page}")
    tries = {
        "the socket": f"curl -sS --max-time 20 --unix-socket {runtime}/nightshift/nightshift.sock http://localhost/v1/status",
        "the runtime directory": f"ls {runtime}/nightshift",
        "the state": "ls /home/ada/.local/state/nightshift",
        "the database": "cat /home/ada/.local/state/nightshift/nightshift.sqlite",
        "a partial file": "cat /home/ada/.local/state/nightshift/partials/*",
        "the command line with ada's home": "NIGHTSHIFT_HOME=/home/ada/.local/state/nightshift nightshift list",
        "the command line with ada's directories": f"XDG_RUNTIME_DIR={runtime} XDG_STATE_HOME=/home/ada/.local/state nightshift list",
        "the service's memory": f"cat /proc/{ada.process()}/environ",
        "a signal": f"kill -0 {ada.process()}",
        "the page without its address": f"curl -sSf --max-time 20 http://127.0.0.1:{address[1]}/v1/tasks",
        "the page's events": f"curl -sSf --max-time 20 http://127.0.0.1:{address[1]}/api/v1/tasks",
    }
    for what, command in tries.items():
        result = eve.run(command, check=False)
        if result.status == 0:
            raise Failure(f"eve reaches {what}: {result}")
        if "private.bin" in result.output + result.error or secret in result.output + result.error:
            raise Failure(f"eve learns of ada's transfer from {what}: {result}")
    lines = eve.output("journalctl --no-pager --output=cat 2>/dev/null | grep -ci nightshift || true")
    own = eve.output("journalctl --user --no-pager --output=cat 2>/dev/null | grep -c private.bin || true")
    if own != "0":
        raise Failure("eve's journal names ada's file")
    foreign = eve.output("journalctl --no-pager _UID=1000 --output=cat 2>/dev/null | wc -l")
    if foreign != "0":
        raise Failure(f"eve reads {foreign} lines of ada's journal")
    arguments = eve.output("ps -u ada -o args=; cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '")
    if secret in arguments:
        raise Failure("the command lines of processes have the secret")

    # Each has a service of their own.
    eve.run("nightshift status; nightshift list --all")
    if eve.tasks():
        raise Failure("eve's service has transfers")
    if not set(daemons_of(machine, "eve")).isdisjoint(daemons_of(machine, "ada")):
        raise Failure("ada and eve share a service")
    run.origin.hurry("private.bin")
    check_file(run, ada, ada.await_task(number), "private.bin", size)
    return f"{len(tries)} ways tried; eve's own journal has {lines} lines of her service"


@check("root", "Root is one more user: root's login starts root's service, which serves root, and which ada cannot reach.")
def root(run):
    machine = run.installed_machine("root")
    machine.output("root", "systemctl --user is-system-running --wait", check=False, timeout=180)
    service = Service(machine, "root")
    service.run("mkdir -p downloads && nightshift doctor")
    size = 4 * MIB
    path = service.output(f"nightshift get --quiet -d downloads {shlex.quote(run.origin.file_url('root.bin', size))}", timeout=300)
    if service.digest(path) != Content("root.bin", size).digest():
        raise Failure(f"{path} is not the file that was served")
    owner = service.output(f"stat -c %U {shlex.quote(path)}")
    if owner != "root" or len(daemons_of(machine, "root")) != 1:
        raise Failure(f"the file belongs to {owner}; services of root: {daemons_of(machine, 'root')}")
    ada = Service(machine)
    tried = ada.run("curl -sS --unix-socket /run/user/0/nightshift/nightshift.sock http://localhost/v1/tasks", check=False)
    listed = ada.output("nightshift list --all")
    if tried.status == 0 or "root.bin" in listed:
        raise Failure(f"ada reaches the service of root: {tried}, {listed}")
    return "one service of root"
