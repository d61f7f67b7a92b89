"""The packages that are installed in the machine: those of `make deb`, or a stand-in made of built programs."""

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SWIFT_LIBRARIES = re.compile(r"=> (\S*/swift/linux/\S+) ")


class Packages:
    """The .deb files of one run, by package name."""

    def __init__(self, files):
        self.files = {field(path, "Package"): path for path in files}

    def __contains__(self, name):
        return name in self.files

    def __getitem__(self, name):
        return self.files[name]

    def versions(self):
        return {name: field(path, "Version") for name, path in sorted(self.files.items())}

    def sizes(self):
        return {name: int(field(path, "Installed-Size") or 0) for name, path in sorted(self.files.items())}


def field(package, name):
    return subprocess.run(["dpkg-deb", "--field", str(package), name], check=True, capture_output=True, text=True).stdout.strip()


def newer(package, directory):
    """Returns a copy of a package with a higher version and the same content, to upgrade to."""
    tree = directory / (package.stem + ".newer")
    subprocess.run(["dpkg-deb", "--raw-extract", str(package), str(tree)], check=True)
    control = tree / "DEBIAN/control"
    text, count = re.subn(r"(?m)^(Version: .*)$", r"\1+newer", control.read_text())
    assert count == 1
    control.write_text(text)
    result = directory / (package.stem + ".newer.deb")
    build(tree, result)
    shutil.rmtree(tree)
    return result


def build(tree, result):
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", str(tree), str(result)],
                   check=True, stdout=subprocess.DEVNULL)


def stand_in(binaries, directory):
    """Makes packages of built programs, with the Swift libraries that they need where they look for them."""
    tree = directory / "stand-in"
    shutil.rmtree(tree, ignore_errors=True)
    libraries = set()
    (tree / "DEBIAN").mkdir(parents=True)
    for name in ["nightshift", "nightshiftd"]:
        program = install(binaries / name, tree / "usr/bin" / name)
        output = subprocess.run(["ldd", str(program)], check=True, capture_output=True, text=True).stdout
        libraries |= set(SWIFT_LIBRARIES.findall(output))
    for library in libraries:
        install(Path(library), tree / library.lstrip("/"))
    for unit in ["nightshiftd.service", "nightshiftd.socket"]:
        target = tree / "usr/lib/systemd/user" / unit
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "packaging/systemd" / unit, target)
    entries = tree / "usr/share/applications"
    entries.mkdir(parents=True)
    shutil.copy(ROOT / "packaging/applications/nightshift.desktop", entries)
    (tree / "DEBIAN/control").write_text(
        "Package: nightshift\nVersion: 0~standin\nArchitecture: amd64\nMaintainer: Machine test <machine@localhost>\n"
        "Depends: libc6, libcurl4, libsqlite3-0, libsystemd0, libssl3\nDescription: built programs without packaging\n")
    scripts = {
        # As a package's own scripts do: enabled for every user, and restarted where it runs.
        "postinst": "systemctl --global enable nightshiftd.socket nightshiftd.service\n",
        "prerm": "",
    }
    for name, text in scripts.items():
        script = tree / "DEBIAN" / name
        script.write_text("#!/bin/sh\nset -e\n" + text)
        script.chmod(0o755)
    result = directory / "nightshift_standin.deb"
    build(tree, result)
    shutil.rmtree(tree)
    return [result]


def install(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    # Copied first: builds replace the file at any time.
    shutil.copy(source, target)
    subprocess.run(["strip", str(target)], check=True)
    os.chmod(target, 0o755)
    return target
