"""A first boot, the packages' installation, and a first download."""

import re
import shlex
import time

from checks import check
from machine import Failure
from origin import Content
from service import Service, download


@check("boot", "A Debian machine without Nightshift boots, and all of its units start.", in_short_form=True, is_required=True)
def boot(run):
    machine = run.fresh_machine("fresh")
    state = machine.output("root", "systemctl is-system-running --wait", check=False, timeout=300)
    if state != "running":
        raise Failure(f"the machine is {state}: {machine.output('root', 'systemctl --failed --no-pager', check=False)}")
    return f"ssh answers after {machine.boot_seconds:.0f} s"


@check("install", "The packages install with apt-get from local files, and `nightshift doctor` finds nothing that fails.",
       in_short_form=True, is_required=True)
def install(run):
    machine = run.machine if run.machine is not None and run.machine.is_running() else run.fresh_machine("fresh")
    seconds = put_packages(run, machine, run.packages.files.values())
    ada = Service(machine)
    version = ada.output("nightshift --version")
    doctor = ada.run("nightshift doctor", check=False)
    if doctor.status != 0 or re.search(r"(?m)^fail", doctor.output):
        raise Failure(f"doctor: {doctor}")
    size = machine.output("root", "dpkg-query --show --showformat='${Package} ${Installed-Size} KiB  ' 'nightshift*'")
    if not run.short:
        machine.shut_down()
    run.installed = machine.layer
    return f"apt-get took {seconds:.0f} s; version {version}; {' '.join(size.split())}"


def put_packages(run, machine, files):
    """Fetches packages from the host, and installs them with apt-get. Returns the seconds of apt-get."""
    paths = []
    for file in files:
        run.origin.packages[file.name] = file
        paths.append(f"/var/tmp/{file.name}")
        url = run.origin.url(f"/packages/{file.name}")
        machine.run("root", f"curl -sSf -o {shlex.quote(paths[-1])} {shlex.quote(url)}", timeout=300)
    started = time.monotonic()
    machine.run("root", "DEBIAN_FRONTEND=noninteractive apt-get install -y -q --allow-downgrades "
                + " ".join(map(shlex.quote, paths)) + " </dev/null && rm -f " + " ".join(map(shlex.quote, paths)), timeout=900)
    return time.monotonic() - started


@check("download", "A download through the command line arrives whole, and no byte is fetched twice.", in_short_form=True)
def first_download(run):
    machine = run.installed_machine("download")
    ada = Service(machine)
    size = 40 << 20
    url = run.origin.file_url("first.bin", size)
    ada.run("mkdir -p downloads")
    started = time.monotonic()
    path = ada.output(f"nightshift get --quiet -d downloads {shlex.quote(url)}", timeout=300)
    seconds = time.monotonic() - started
    if ada.digest(path) != Content("first.bin", size).digest():
        raise Failure(f"{path} is not the file that was served")
    if run.origin.sent("first.bin") != size:
        raise Failure(f"the server sent {run.origin.sent('first.bin')} bytes of a file of {size}")
    return f"{size >> 20} MiB in {seconds:.0f} s"
