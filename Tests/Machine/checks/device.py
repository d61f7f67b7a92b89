"""The services of a desktop that report the device: UPower, NetworkManager and logind, all of them real."""

import shlex
import time

from checks import check
from checks.sessions import MIB, check_file, processes_of
from machine import Failure, wait_until
from service import Service, download

# The table battery.asl reads both values from scratch registers. A real charger also announces each change; here udev does it.
SET_BATTERY = """\
#!/bin/sh
printf "\\\\$(printf %03o $1)" | dd of=/dev/port bs=1 seek=$((0x2ff)) conv=notrunc status=none
printf "\\\\$(printf %03o $2)" | dd of=/dev/port bs=1 seek=$((0x3ef)) conv=notrunc status=none
udevadm trigger --action=change --subsystem-match=power_supply
"""


class Battery:
    """The machine's battery and charger."""

    def __init__(self, machine):
        self.machine = machine
        machine.put("/root/battery", SET_BATTERY, mode="755")

    def set(self, percentage, plugged_in):
        self.machine.run("root", f"/root/battery {percentage} {0 if plugged_in else 1}")


def condition(service, key):
    """Returns one value of the device, with its source."""
    for value in service.ask("GET", "/v1/device")["values"]:
        if value["key"] == key:
            return value["value"], value["source"]
    return None


def await_condition(service, key, value, source, timeout=120):
    found = []

    def look():
        found[:] = [condition(service, key)]
        return found[0] == (value, source)

    try:
        wait_until("", look, timeout, 1)
    except Failure:
        raise Failure(f"{key} is {found[0]}, not {(value, source)}, {timeout} s after the change") from None


def await_reason(service, number, reason, timeout=120):
    def look():
        task = service.ask("GET", f"/v1/tasks/{number}")
        return task["state"] == "waiting" and task["wait"]["reason"] == reason

    wait_until(f"transfer {number} waits with the reason {reason}", look, timeout, 1)


@check("power", "UPower's battery and charger reach the service, and transfers wait for power and charge.")
def power(run):
    machine = run.installed_machine("power", battery=True)
    battery = Battery(machine)
    battery.set(80, True)
    # A desktop starts UPower with its session. This machine has none.
    started_by_service = machine.run("root", "systemctl is-active upower.service", check=False).output.strip()
    machine.run("root", "systemctl start upower.service")
    ada = Service(machine)
    ada.run("mkdir -p downloads")
    await_condition(ada, "battery", "80", "UPower")
    await_condition(ada, "power", "external", "UPower")
    size = 4 * MIB
    battery.set(35, False)
    await_condition(ada, "power", "battery", "UPower")
    await_condition(ada, "battery", "35", "UPower")
    [plugged] = ada.add([download(run.origin.file_url("plugged.bin", size), "plugged.bin", requiresExternalPower=True)])
    [charged] = ada.add([download(run.origin.file_url("charged.bin", size), "charged.bin", minimumBattery=40)])
    [deferred] = ada.add([download(run.origin.file_url("deferred.bin", size), "deferred.bin", isDiscretionary=True)])
    [plain] = ada.add([download(run.origin.file_url("plain.bin", size), "plain.bin")])
    await_reason(ada, plugged, "externalPower")
    await_reason(ada, charged, "battery")
    await_reason(ada, deferred, "discretionary")
    check_file(run, ada, ada.await_task(plain), "plain.bin", size)
    battery.set(60, False)
    check_file(run, ada, ada.await_task(charged), "charged.bin", size)
    check_file(run, ada, ada.await_task(deferred), "deferred.bin", size)
    await_reason(ada, plugged, "externalPower")
    battery.set(60, True)
    check_file(run, ada, ada.await_task(plugged), "plugged.bin", size)
    return f"UPower was {started_by_service} before the check started it"


@check("metered", "A metered connection of NetworkManager stops transfers that must not use it, and they continue when it is not metered.")
def metered(run):
    machine = run.installed_machine("metered")
    ada = Service(machine)
    ada.run("mkdir -p downloads")
    size = 12 * MIB
    await_condition(ada, "expensive", "no", "NetworkManager")
    [running] = ada.add([download(run.origin.file_url("running.bin", size, MIB // 8), "running.bin",
                                  allowsExpensiveNetworkAccess=False)])
    ada.await_bytes(running, MIB // 2)
    set_metered(machine, True)
    await_condition(ada, "expensive", "yes", "NetworkManager")
    await_reason(ada, running, "expensiveNetwork")
    sent = run.origin.sent("running.bin")
    [plain] = ada.add([download(run.origin.file_url("allowed.bin", MIB), "allowed.bin")])
    check_file(run, ada, ada.await_task(plain), "allowed.bin", MIB)
    if run.origin.sent("running.bin") > sent + MIB // 4:
        raise Failure("the transfer uses the metered network")
    run.origin.hurry("running.bin")
    set_metered(machine, False)
    check_file(run, ada, ada.await_task(running), "running.bin", size)
    return f"{max(0, run.origin.sent('running.bin') - size)} bytes fetched again"


def set_metered(machine, is_metered):
    machine.run("root", f"nmcli connection modify wired connection.metered {'yes' if is_metered else 'no'} && nmcli device reapply eth0")


@check("network", "A transfer waits while the cable is out, and continues by itself.")
def network(run):
    machine = run.installed_machine("network")
    ada = Service(machine)
    size = 16 * MIB
    ada.run("mkdir -p downloads")
    # The machine keeps its own record: without its cable it cannot be reached.
    machine.run("root", "loginctl enable-linger ada")
    [number] = ada.add([download(run.origin.file_url("cable.bin", size, MIB // 4), "cable.bin")])
    ada.await_bytes(number, MIB)
    machine.monitor.set_link(False)
    time.sleep(20)
    sent = run.origin.furthest("cable.bin")
    run.origin.hurry("cable.bin")
    machine.monitor.set_link(True)
    wait_until("the transfer continues with the cable", lambda: run.origin.furthest("cable.bin") > sent + MIB, 300)
    check_file(run, ada, ada.await_task(number), "cable.bin", size)
    changes = [entry.get("detail", "") for entry in ada.journal() if entry["decision"] == "deviceChanged"]
    if not any("network: yes → no" in change for change in changes) or not any("network: no → yes" in change for change in changes):
        raise Failure(f"the journal does not have the loss of the network: {changes}")
    again = max(0, run.origin.sent("cable.bin") - size)
    if again > 8 * MIB:
        raise Failure(f"{again} bytes were fetched again")
    return f"{again / MIB:.1f} MiB fetched again"


@check("portal", "While NetworkManager's connectivity check finds a portal, no log-in page becomes a file, and transfers continue after it.")
def portal(run):
    machine = run.installed_machine("portal")
    machine.put("/etc/NetworkManager/conf.d/connectivity.conf",
                f"[connectivity]\nuri={run.origin.url('/connectivity')}\nresponse=NetworkManager is online\ninterval=300\n")
    machine.run("root", "systemctl reload NetworkManager")
    ada = Service(machine)
    ada.run("mkdir -p downloads")
    size = 8 * MIB

    def connectivity(value):
        def look():
            return machine.output("root", "nmcli --terse networking connectivity check") == value

        wait_until(f"NetworkManager reports {value}", look, 120, 2)
        await_condition(ada, "connectivity", value, "NetworkManager")

    connectivity("full")
    [running] = ada.add([download(run.origin.file_url("running.bin", size, MIB // 16), "running.bin")])
    ada.await_bytes(running, MIB // 4)
    run.origin.portal = True
    try:
        run.origin.disconnect()
        connectivity("portal")
        [fresh] = ada.add([download(run.origin.file_url("fresh.bin", size), "fresh.bin")])
        await_reason(ada, running, "portal", 180)
        await_reason(ada, fresh, "portal", 180)
        answers = run.origin.portal_answers
    finally:
        run.origin.portal = False
    run.origin.hurry("running.bin")
    connectivity("full")
    check_file(run, ada, ada.await_task(running), "running.bin", size)
    check_file(run, ada, ada.await_task(fresh), "fresh.bin", size)
    again = max(0, run.origin.sent("running.bin") - size)
    if again > 8 * MIB:
        raise Failure(f"{again} bytes were fetched again after the portal")
    return f"{answers} answers were log-in pages; {again / MIB:.1f} MiB fetched again"


@check("inhibitor", "Background work with the policy contiguous holds logind's lock against sleep, and only as long as it runs.")
def inhibitor(run):
    machine = run.installed_machine("inhibitor")
    ada = Service(machine)

    # logind grants the lock to a person at the machine, and not to one who is logged in over a network.
    machine.put("/etc/systemd/system/getty@tty1.service.d/machine.conf",
                "[Service]\nExecStart=\nExecStart=-/sbin/agetty --autologin ada --noclear %I linux\n")
    machine.run("root", "systemctl unmask getty@tty1.service && systemctl daemon-reload && systemctl start getty@tty1.service")
    wait_until("ada is logged in at the machine",
               lambda: machine.run("root", "loginctl list-sessions --no-legend | grep -w ada | grep -w seat0", check=False).status == 0, 120)

    def locks():
        return [line for line in machine.output("root", "systemd-inhibit --list --no-legend --no-pager").splitlines()
                if "nightshift" in line.lower()]

    if locks():
        raise Failure(f"an idle service holds a lock: {locks()}")
    ada.run("nightshift device policy contiguous")
    ada.run("nohup nightshift task run --name copying -- sh -c 'until test -e done; do sleep 0.2; done' >task.log 2>&1 &")
    [lock] = wait_until("the work holds a lock", locks, 60)
    if "sleep" not in lock:
        raise Failure(f"the lock is not against sleep: {lock}")
    refused = ada.run("systemctl suspend", check=False, timeout=60)
    if refused.status == 0 or not machine.is_running():
        raise Failure("the machine sleeps although the work holds a lock")
    ada.run("touch done")
    wait_until("the lock is released", lambda: not locks(), 60)
    return " ".join(lock.split())


@check("doze", "On battery and with nobody there, the device dozes and discretionary transfers wait; a login ends this.")
def doze(run):
    machine = run.installed_machine("doze", battery=True)
    battery = Battery(machine)
    battery.set(90, True)
    machine.run("root", "systemctl start upower.service; loginctl enable-linger ada")
    ada = Service(machine)
    ada.run("mkdir -p downloads")
    await_condition(ada, "power", "external", "UPower")
    battery.set(90, False)
    await_condition(ada, "power", "battery", "UPower")
    if condition(ada, "idle") != ("no", "logind"):
        raise Failure(f"idle is {condition(ada, 'idle')} while ada is logged in")
    size = 4 * MIB
    # Nobody is logged in while this waits for doze, adds a transfer, and says so.
    machine.put("/home/ada/when-dozing", f"""\
#!/bin/sh
until nightshift device --json | grep -q '"phase":"dozing"'; do sleep 2; done
nightshift get --detach --discretionary -d /home/ada/downloads {shlex.quote(run.origin.file_url("doze.bin", size))}
curl -sS {run.origin.url("/signal/added")}
""", user="ada", mode="755")
    ada.run("systemd-run --user --quiet /home/ada/when-dozing")
    machine.log_out("ada")
    machine.log_out("root")
    started = time.monotonic()
    wait_until("the device dozes, and a transfer is added", lambda: "added" in run.origin.signals, 400)
    seconds = time.monotonic() - started
    time.sleep(10)
    if run.origin.sent("doze.bin"):
        raise Failure("a discretionary transfer ran while the device dozed")
    journal = ada.journal()
    accepted = [entry for entry in journal if entry["decision"] == "accepted"]
    if not accepted:
        raise Failure(f"the transfer was not accepted: {[entry['decision'] for entry in journal]}")
    task = ada.await_task(accepted[-1]["task"])
    check_file(run, ada, task, "doze.bin", size)
    ends = [entry for entry in ada.journal() if entry["decision"] == "dozeEnded"]
    if not ends:
        raise Failure("the login did not end the doze")
    return f"it dozed within {seconds:.0f} s of the log-out"
