"""An upgrade of the package below running transfers and a running app."""

from checks import check
from checks.install import put_packages
from checks.sessions import MIB, check_file, daemons_of
from machine import Failure, wait_until
from packages import newer
from service import Service, download

APP = "org.example.Editor"


@check("upgrade", "An upgrade restarts the service of each user. Transfers lose nothing, and apps keep running.")
def upgrade(run):
    machine = run.installed_machine("upgrade")
    ada, eve = Service(machine), Service(machine, "eve")
    machine.put(f"/home/ada/{APP}.desktop", "[Desktop Entry]\nType=Application\nName=Editor\nExec=sleep 3000\n"
                "X-Nightshift-BackgroundModes=transfer;\n", user="ada")
    size = 48 * MIB
    ada.run(f"mkdir -p downloads; nightshift app install {APP}.desktop; head -c {8 * MIB} /dev/urandom >source", timeout=180)
    app = ada.ask("POST", f"/v1/apps/{APP}/launch", {})["processID"]
    digest = ada.digest("source")
    [number] = ada.add([download(run.origin.file_url("upgrade.bin", size, MIB // 8), "upgrade.bin")])
    [upload] = ada.add([{"url": run.origin.url(f"/tus/upgrade-source?rate={MIB // 32}"), "kind": "upload", "source": "/home/ada/source",
                         "resumption": "tus", "retryPolicy": "transientResponses"}])
    eve.run("nightshift list")
    before = daemons_of(machine, "ada") + daemons_of(machine, "eve")
    if len(before) != 2:
        raise Failure(f"these services run before the upgrade: {before}")
    ada.await_bytes(number, MIB)
    package = newer(run.packages["nightshift"], run.room)
    seconds = put_packages(run, machine, [package])
    if run.origin.sent("upgrade.bin") >= size or run.origin.complete["upgrade-source"]:
        raise Failure("a transfer was complete before the upgrade; nothing was tested")
    run.origin.hurry("upgrade.bin", "upgrade-source")

    def replaced():
        return all(daemons_of(machine, user) and not set(daemons_of(machine, user)) & set(before) for user in ["ada", "eve"])

    wait_until("both users' services are new ones", replaced, 180)
    for service in [ada, eve]:
        state = service.output("systemctl --user is-active nightshiftd.service nightshiftd.socket", check=False).split()
        if state != ["active", "active"]:
            raise Failure(f"{service.user}'s service and socket are {state} after the upgrade")
    status = ada.ask("GET", f"/v1/apps/{APP}")
    if status.get("processID") != app or machine.run("root", f"kill -0 {app}", check=False).status != 0:
        raise Failure(f"the app did not survive the upgrade: {status}")
    check_file(run, ada, ada.await_task(number), "upgrade.bin", size)
    ada.await_task(upload)
    if run.origin.complete["upgrade-source"] != [digest]:
        raise Failure(f"the upload arrived as {run.origin.complete['upgrade-source']}")
    again = run.origin.sent("upgrade.bin") - size
    if again > 8 * MIB:
        raise Failure(f"{again} bytes were fetched again")
    left = machine.output("root", "journalctl -b --no-pager --output=cat --grep 'left-over process' || true")
    if "left-over" in left:
        raise Failure(f"systemd found processes of the earlier service: {left}")
    ada.ask("POST", f"/v1/apps/{APP}/quit", {})
    return f"apt-get took {seconds:.0f} s; {max(0, again) / MIB:.1f} MiB fetched again; the app kept its process"
