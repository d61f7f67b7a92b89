"""The push gateway as a service of the system."""

from checks import check
from checks.power_cut import APP, ENTRY, SCRIPT
from machine import Failure, wait_until
from pushes import Gateway, verify_pushes
from service import Service


@check("gateway", "The gateway is neither enabled nor started before it has a certificate. It then runs under its unit's filter, "
       "a device enrols, and pushes reach an app.", needs=["nightshift", "nightshift-gateway"])
def gateway(run):
    machine = run.installed_machine("gateway", forwards=[2197])
    state = machine.output("root", "systemctl is-active nightshift-gateway.service; systemctl is-enabled nightshift-gateway.service", check=False)
    if state.split() != ["inactive", "disabled"]:
        raise Failure(f"after its installation the gateway is {state.split()}")
    ada = Service(machine)
    machine.put("/home/ada/keeper", SCRIPT, user="ada", mode="755")
    machine.put(f"/home/ada/{APP}.desktop", ENTRY, user="ada")
    ada.run(f"nightshift app install {APP}.desktop")
    server = Gateway(run, machine)
    server.set_up()
    server.register(ada, APP)
    doctor = machine.run("root", "nightshift-gateway doctor", check=False)
    if doctor.status != 0:
        raise Failure(f"doctor of the gateway: {doctor}")
    status = machine.output("root", "cat /proc/$(systemctl show -P MainPID nightshift-gateway)/status")
    facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    if facts["Seccomp"].strip() != "2" or facts["NoNewPrivs"].strip() != "1" or int(facts["CapEff"], 16) != 0 or \
            facts["Uid"].split()[0] == "0":
        raise Failure(f"the gateway is not confined: {facts}")
    accepted = [server.send({"aps": {"content-available": 1, "alert": {"body": f"Number {number}"}}}) for number in range(5)]
    verify_pushes(ada, APP, accepted)
    # After its death and after a reboot it continues, and so does the device.
    machine.run("root", "systemctl kill --signal=KILL nightshift-gateway.service")
    wait_until("the gateway runs again", lambda: machine.run("root", "systemctl is-active --quiet nightshift-gateway", check=False).status == 0, 120)
    accepted += [push(server)]
    verify_pushes(ada, APP, accepted)
    machine.run("root", "loginctl enable-linger ada")
    machine.reboot()
    accepted += [push(server)]
    verify_pushes(ada, APP, accepted)
    wakes = ada.output("grep -c push wakes")
    errors = machine.output("root", "journalctl -u nightshift-gateway --no-pager -p err --output=cat | grep -v '^-- ' || true")
    if errors:
        raise Failure(f"errors in the gateway's journal: {errors}")
    security = machine.output("root", "systemd-analyze security --no-pager nightshift-gateway | tail -1", timeout=180)
    return f"{len(accepted)} pushes in {wakes} wakes; {security.split(':', 1)[-1].strip()}"


def push(server):
    """Sends a push as soon as the gateway accepts one."""

    def attempt():
        try:
            return server.send({"aps": {"content-available": 1, "alert": {"body": "Again"}}})
        except Failure:
            return None

    return wait_until("the gateway accepts a push", attempt, 180, 2)
