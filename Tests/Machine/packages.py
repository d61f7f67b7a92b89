"""The packages that are installed in the machine."""

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


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
