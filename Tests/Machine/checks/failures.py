"""An installation that cannot work says so."""

import shlex

from checks import check
from checks.sessions import daemons_of, processes_of
from machine import Failure, wait_until
from service import Service

DATABASE = "/home/ada/.local/state/nightshift/nightshift.sqlite"


@check("dead-installation", "With a database of a newer version the service does not start, and doctor, commands and the journal say why. "
       "It starts when the cause is gone.")
def dead_installation(run):
    machine = run.installed_machine("dead")
    ada = Service(machine)
    ada.run("nightshift list")
    ada.run("systemctl --user stop nightshiftd.service nightshiftd.socket")
    wait_until("the service ends", lambda: not daemons_of(machine, "ada"))
    ada.run(f"sqlite3 {DATABASE} \"INSERT INTO grdb_migrations VALUES ('v9999')\"")
    # As after a downgrade: the next login starts the unit, which fails.
    machine.log_out("ada")
    wait_until("ada's processes end", lambda: not processes_of(machine, "ada"), 180)
    since = machine.output("root", "date +%s")

    def log(pattern):
        return ada.output(f"journalctl --user -u nightshiftd.service --since @{since} --no-pager --output=cat --grep {shlex.quote(pattern)}",
                          check=False)

    wait_until("the unit has failed", lambda: "newer version" in log("newer version"), 180, 2)
    wait_until("systemd does not start it again", lambda: ada.output(
        "systemctl --user show -P ActiveState nightshiftd.service") in {"failed", "inactive"}, 120, 2)
    starts = len(log("^Starting nightshiftd").splitlines())
    problems = []
    doctor = ada.run("nightshift doctor", check=False, timeout=180)
    if doctor.status != 1:
        problems.append(f"doctor calls it healthy: {doctor}")
    elif "newer version" not in doctor.output:
        problems.append(f"doctor does not say why: {doctor}")
    result = ada.run("nightshift list", check=False, timeout=300)
    if result.status != 3:
        problems.append(f"'nightshift list' has status {result.status} instead of 3: {result}")
    elif "newer version" not in result.error:
        problems.append(f"'nightshift list' does not say why: {result}")
    doctor = ada.run("nightshift doctor", check=False, timeout=180)
    if doctor.status != 1 or "newer version" not in doctor.output:
        problems.append(f"doctor after a command: {doctor}")
    if starts > 2:
        problems.append(f"a login starts the service {starts} times, although another start ends in the same way")
    if problems:
        raise Failure("; ".join(problems))

    ada.run(f"sqlite3 {DATABASE} \"DELETE FROM grdb_migrations WHERE identifier = 'v9999'\"")
    ada.run("systemctl --user reset-failed; systemctl --user start nightshiftd.socket; nightshift list", timeout=300)
    doctor = ada.run("nightshift doctor", check=False)
    if doctor.status != 0:
        raise Failure(f"doctor after the repair: {doctor}")
    return f"{starts} starts at the login"
