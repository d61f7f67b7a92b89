"""Builds the disk image of the test machine: Debian with an init, a desktop's services, two users, and no bootloader.

The image is kept in the cache directory under a hash of its recipe, so that a changed recipe builds another image.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

SUITE = "bookworm"
SIZE = 6 << 30

# The kernel for real hardware: that of clouds has no ACPI battery and no simulated Wi-Fi.
PACKAGES = """
    systemd systemd-sysv libpam-systemd dbus dbus-user-session udev kmod
    linux-image-amd64 initramfs-tools zstd e2fsprogs
    openssh-server sudo procps iproute2 curl ca-certificates sqlite3 acpica-tools
    network-manager upower geoclue-2.0 geoclue-2-demo policykit-1
""".split()

# What the packages of Nightshift depend on. The machine has no route to a Debian mirror.
DEPENDENCIES = """
    libc6 libstdc++6 libgcc-s1 libcurl4 libssl3 libsqlite3-0 libsystemd0 zlib1g libnats3.4
    libxcb1 libwayland-client0 init-system-helpers
""".split()

USERS = ["ada", "eve"]

# Units that cost time at boot and serve no check.
MASKED = """
    apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer
    getty@tty1.service serial-getty@ttyS0.service console-getty.service systemd-timesyncd.service
    NetworkManager-wait-online.service wpa_supplicant.service
    systemd-networkd.socket systemd-networkd.service
""".split()

FILES = {
    "etc/hostname": "machine\n",
    "etc/hosts": "127.0.0.1 localhost machine\n10.0.2.2 origin\n",
    "etc/fstab": "/dev/vda / ext4 errors=remount-ro 0 1\n",
    "etc/initramfs-tools/conf.d/machine": "MODULES=list\nCOMPRESS=zstd\nCOMPRESSLEVEL=1\nRESUME=none\n",
    "etc/initramfs-tools/modules": "virtio_pci\nvirtio_blk\next4\ncrc32c_generic\n",
    "etc/modules-load.d/machine.conf": "virtio_net\nvirtio_rng\nqemu_fw_cfg\n",
    # Hardware that the machine's board has and no check uses.
    "etc/modprobe.d/machine.conf": "".join(
        f"blacklist {module}\n" for module in ["pcspkr", "psmouse", "i2c_piix4", "floppy", "joydev", "parport_pc", "lp"]
    ),
    # The key belongs to one run, which hands it to the machine through qemu. /root and the homes have none.
    "etc/ssh/sshd_config.d/machine.conf": """\
AuthorizedKeysCommand /usr/bin/cat /sys/firmware/qemu_fw_cfg/by_name/opt/nightshift.machine/key/raw
AuthorizedKeysCommandUser root
PermitRootLogin prohibit-password
PasswordAuthentication no
UseDNS no
MaxSessions 100
""",
    "etc/systemd/journald.conf.d/machine.conf": "[Journal]\nStorage=persistent\nRateLimitIntervalSec=0\n",
    # A machine without a display would never hear of its lid and keys; suspending is what the checks do.
    "etc/systemd/logind.conf.d/machine.conf": "[Login]\nKillUserProcesses=no\n",
    "etc/sudoers.d/machine": "ada ALL=(ALL) NOPASSWD: ALL\n",
    "etc/NetworkManager/conf.d/machine.conf": "[main]\nplugins=keyfile\nno-auto-default=*\n[keyfile]\nunmanaged-devices=interface-name:lo\n",
    "etc/NetworkManager/system-connections/wired.nmconnection": """\
[connection]
id=wired
type=ethernet

[ipv4]
method=manual
address1=10.0.2.15/24,10.0.2.2
dns=10.0.2.3;

[ipv6]
method=disabled
""",
}


def recipe():
    """Returns the text whose hash names the image."""
    return Path(__file__).read_text() + (Path(__file__).parent / "battery.asl").read_text()


def sources():
    """Returns this machine's lines for apt, for the suite of the image."""
    lines = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(SITE) $(CODENAME) $(COMPONENT) $(TARGET_OF)", "Created-By: Packages"],
        check=True, capture_output=True, text=True).stdout.splitlines()
    found = []
    for line in dict.fromkeys(lines):
        site, codename, component, kind = line.split()
        if kind == "deb" and component == "main" and codename.split("-")[0] == SUITE and "debian" in site:
            found.append((site, codename))
    if not found:
        # A machine whose lists were never fetched, or that is not Debian 12.
        found = [("http://deb.debian.org/debian", SUITE)]
    return found


class Image:
    """The cached image: the file system, the kernel, its initial file system, and the table of a battery."""

    def __init__(self, cache):
        self.directory = cache / f"image-{hashlib.sha256(recipe().encode()).hexdigest()[:12]}"
        self.disk = self.directory / "root.img"
        self.kernel = self.directory / "vmlinuz"
        self.initrd = self.directory / "initrd.img"
        self.battery = self.directory / "battery.aml"
        self.facts = self.directory / "facts.json"
        self.archives = cache / "archives"

    def exists(self):
        return self.facts.exists()

    def read_facts(self):
        return json.loads(self.facts.read_text())

    def build(self, say):
        """Builds the image. Packages come from the cache, and from apt's mirror where the cache has none."""
        if os.geteuid() != 0:
            raise SystemExit("machine-test: building the image needs root (debootstrap). Run it once with sudo.")
        started = time.monotonic()
        for old in self.directory.parent.glob("image-*"):
            shutil.rmtree(old)
        self.archives.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix="building-", dir=self.directory.parent))
        try:
            root = work / "root"
            log = (self.directory.parent / "image.log").open("w")
            self._bootstrap(root, log, say)
            self._configure(root, log, say)
            say("image: writing the file system")
            self._export(root, work, log)
            shutil.rmtree(root)
            facts = self._versions(work)
            facts["seconds"] = round(time.monotonic() - started)
            (work / "facts.json").write_text(json.dumps(facts, indent=1))
            work.rename(self.directory)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _bootstrap(self, root, log, say):
        mirror = next(site for site, codename in sources() if codename == SUITE)
        say(f"image: debootstrap {SUITE} from {mirror}")
        environment = os.environ | {"DPKG_FORCE": "unsafe-io", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
        run(["debootstrap", "--variant=minbase", f"--cache-dir={self.archives}", SUITE, str(root), mirror],
            log, env=environment, timeout=1500)

    def _configure(self, root, log, say):
        (root / "etc/apt/sources.list").write_text(
            "".join(f"deb {site} {codename} main\n" for site, codename in sources()))
        (root / "etc/apt/apt.conf.d/90machine").write_text(
            'APT::Install-Recommends "false";\nAcquire::Languages "none";\nAcquire::Check-Valid-Until "false";\n'
            'Binary::apt-get::APT::Keep-Downloaded-Packages "true";\nAPT::Sandbox::User "root";\n')
        (root / "etc/dpkg/dpkg.cfg.d/machine").write_text(
            "force-unsafe-io\npath-exclude /usr/share/man/*\npath-exclude /usr/share/locale/*\n"
            "path-exclude /usr/share/doc/*\n")
        policy = root / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
        # What the initial file system is made of is there before the kernel's package makes it.
        for path in ["etc/initramfs-tools/conf.d/machine", "etc/initramfs-tools/modules"]:
            write(root / path, FILES[path])
        archives = root / "var/cache/apt/archives"
        for package in self.archives.glob("*.deb"):
            link(package, archives / package.name)
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        packages = PACKAGES + DEPENDENCIES
        say(f"image: apt-get install, {len(packages)} packages and what they depend on")
        with mounted(root, log):
            chroot(root, log, "apt-get", "update", "-q")
            chroot(root, log, "apt-get", "install", "-q", "-y", "--option", "Dpkg::Options::=--force-confold", *packages)
        for package in archives.glob("*.deb"):
            link(package, self.archives / package.name)
            package.unlink()
        for user in USERS:
            chroot(root, log, "useradd", "--create-home", "--shell", "/bin/bash", user)
        for path, text in FILES.items():
            write(root / path, text)
        (root / "etc/NetworkManager/system-connections/wired.nmconnection").chmod(0o600)
        (root / "etc/sudoers.d/machine").chmod(0o440)
        chroot(root, log, "systemctl", "mask", *MASKED)
        for leftover in ["usr/sbin/policy-rc.d", "etc/resolv.conf", "etc/machine-id"]:
            (root / leftover).unlink(missing_ok=True)
        (root / "etc/machine-id").touch()
        # No package that came with the image is fetched again, and none could be.
        for lists in (root / "var/lib/apt/lists").glob("*_*"):
            lists.unlink()
        (root / "etc/apt/sources.list").write_text("")
        (root / "var/log/journal").mkdir(exist_ok=True)

    def _export(self, root, work, log):
        shutil.copy((root / "vmlinuz").resolve() if (root / "vmlinuz").is_symlink() is False
                    else root / os.readlink(root / "vmlinuz"), work / "vmlinuz")
        shutil.copy(root / os.readlink(root / "initrd.img"), work / "initrd.img")
        shutil.copy(Path(__file__).parent / "battery.asl", root / "tmp/battery.asl")
        chroot(root, log, "iasl", "-p", "/tmp/battery", "/tmp/battery.asl")
        shutil.copy(root / "tmp/battery.aml", work / "battery.aml")
        for name in ["battery.asl", "battery.aml"]:
            (root / "tmp" / name).unlink()
        self.versions = subprocess.run(
            ["chroot", str(root), "dpkg-query", "--show", "--showformat=${Package} ${Version}\n"],
            check=True, capture_output=True, text=True).stdout
        with (work / "root.img").open("wb") as disk:
            disk.truncate(SIZE)
        run(["mkfs.ext4", "-q", "-F", "-L", "root", "-E", "lazy_itable_init=0,lazy_journal_init=0",
             "-d", str(root), str(work / "root.img")], log, timeout=900)

    def _versions(self, work):
        versions = dict(line.split() for line in self.versions.splitlines())
        kernel = next(name for name in versions if name.startswith("linux-image-6"))
        return {
            "debian": versions["base-files"],
            "kernel": kernel.removeprefix("linux-image-") + " (" + versions[kernel] + ")",
            "packages": {name: versions[name] for name in ["systemd", "network-manager", "upower", "geoclue-2.0"]},
            "count": len(versions),
        }


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def link(source, destination):
    if not destination.exists():
        try:
            os.link(source, destination)
        except OSError:
            shutil.copy(source, destination)


def run(command, log, timeout=900, env=None):
    log.write(f"$ {' '.join(command)}\n")
    log.flush()
    try:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=timeout, env=env)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise SystemExit(f"machine-test: {error}. See {log.name}") from None


def chroot(root, log, *command):
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "HOME": "/root"
    } | {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    run(["chroot", str(root), *command], log, timeout=1500, env=environment)


class mounted:
    """The kernel's file systems below a root, while packages are configured there."""

    def __init__(self, root, log):
        self.root, self.log = root, log
        self.places = []

    def __enter__(self):
        for kind, place in [("proc", "proc"), ("sysfs", "sys")]:
            run(["mount", "-t", kind, kind, str(self.root / place)], self.log)
            self.places.append(self.root / place)

    def __exit__(self, *_):
        for place in reversed(self.places):
            subprocess.run(["umount", "--lazy", str(place)], stdout=self.log, stderr=self.log)
