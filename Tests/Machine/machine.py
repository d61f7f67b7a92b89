"""A virtual machine: qemu with software emulation, a disk that loses what was not flushed, and ssh on a loopback port."""

import ctypes
import json
import os
import re
import select
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
# How long one step may take on a machine that does other things as well.
BOOT = 600
STEP = 120


class Failure(Exception):
    """A check's claim that does not hold."""


class Trouble(Exception):
    """The test machine itself does not work. It says nothing about Nightshift."""


def wait_until(what, condition, timeout=STEP, pause=0.5):
    """Returns the first true result of a condition, and fails when there was none in time."""
    deadline = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise Failure(f"{what}: not within {timeout} s")
        time.sleep(pause)


class Processes:
    """The processes that this run has started. Each is ended by its own pid."""

    def __init__(self):
        self.running = []
        self.libc = ctypes.CDLL(None, use_errno=True)

    def start(self, command, **options):
        def die_with_parent():
            # PR_SET_PDEATHSIG: nothing stays when this program is killed.
            self.libc.prctl(1, signal.SIGKILL)
            # ^C is for this program, which then ends the others in order.
            os.setpgid(0, 0)

        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent, **options)
        self.running = [other for other in self.running if other.poll() is None] + [process]
        return process

    def end_all(self):
        for process in reversed(self.running):
            if process.poll() is None:
                process.kill()
                process.wait()
        self.running = []


processes = Processes()


class Result:
    """The end of a command in the machine."""

    def __init__(self, status, output, error):
        self.status, self.output, self.error = status, output, error

    def __repr__(self):
        return f"status {self.status}, output {self.output[-2000:]!r}, error {self.error[-2000:]!r}"


class Machine:
    """One virtual machine with its disk. It can lose power and be started again."""

    def __init__(self, image, directory, name, lower=(), layer=None, seed=0, key=None, forwards=(), battery=False,
                 memory=1024):
        self.image = image
        self.name = name
        # Paths of sockets are short.
        self.room = directory / name
        self.room.mkdir(exist_ok=True)
        self.lower = list(lower)
        self.layer = layer or self.room / "layer.img"
        self.seed = seed
        self.key = key
        self.forwards = {22, *forwards}
        self.battery = battery
        self.memory = memory
        self.boots = 0
        self.process = None
        self.ports = {}
        self.logins = set()
        self.disk_reports = []
        self.serial = self.room / "serial.log"

    # Power

    def start(self):
        """Boots the machine, and waits until it answers on ssh. Returns the seconds that this took."""
        started = time.monotonic()
        self.boots += 1
        disk_socket, self.report = self.room / "disk", self.room / f"disk-{self.boots}.json"
        disk_socket.unlink(missing_ok=True)
        self.disk = processes.start(
            [sys.executable, str(HERE / "disk.py"), str(disk_socket), str(self.layer), str(self.report),
             f"{self.seed}-{self.boots}", str(self.image.disk), *map(str, self.lower)],
            stderr=(self.room / "disk.log").open("a"))
        self._wait_for_file(disk_socket, self.disk, "disk.log")
        monitor = self.room / "qmp"
        monitor.unlink(missing_ok=True)
        self.process = processes.start(self._command(disk_socket, monitor), stdout=subprocess.DEVNULL,
                                       stderr=(self.room / "qemu.log").open("a"))
        self._wait_for_file(monitor, self.process, "qemu.log")
        self.monitor = Monitor(monitor)
        self.ports = self.monitor.forward(self.forwards)
        self._await_ssh(BOOT)
        return time.monotonic() - started

    def _command(self, disk_socket, monitor):
        console = ["console=ttyS0", "root=/dev/vda", "rw", "quiet", "mitigations=off", "net.ifnames=0", "audit=0",
                   "random.trust_cpu=on", "panic=0"]
        command = [
            "qemu-system-x86_64", "-name", self.name, "-machine", "pc", "-accel", "tcg,tb-size=512", "-cpu", "max",
            "-smp", "1", "-m", str(self.memory), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-kernel", str(self.image.kernel), "-initrd", str(self.image.initrd), "-append", " ".join(console),
            "-blockdev", f"driver=nbd,node-name=disk,server.type=unix,server.path={disk_socket}",
            "-device", "virtio-blk-pci,drive=disk,write-cache=on",
            "-netdev", "user,id=net,ipv6=off", "-device", "virtio-net-pci,netdev=net,romfile=",
            "-device", "virtio-rng-pci", "-rtc", "base=utc",
            "-fw_cfg", f"name=opt/nightshift.machine/key,file={self.key}.pub",
            "-chardev", f"file,id=serial,path={self.serial},append=on", "-serial", "chardev:serial",
            "-qmp", f"unix:{monitor},server=on,wait=off",
        ]
        if self.battery:
            command += ["-serial", "null", "-serial", "null", "-acpitable", f"file={self.image.battery}"]
        return command

    def _wait_for_file(self, path, process, log):
        deadline = time.monotonic() + 60
        while not path.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise Trouble(f"{path.name} does not start: {(self.room / log).read_text()[-2000:]}")
            time.sleep(0.05)

    def _await_ssh(self, timeout):
        deadline = time.monotonic() + timeout
        while not self._banner():
            if self.process.poll() is not None:
                raise Trouble(f"qemu ended with {self.process.returncode} while the machine booted; see {self.serial}")
            if time.monotonic() > deadline:
                raise Trouble(f"no ssh after {timeout} s; see {self.serial}")
            time.sleep(0.3)

    def _banner(self):
        # qemu accepts each connection at once, also while nobody in the machine listens.
        try:
            with socket.create_connection(("127.0.0.1", self.ports[22]), timeout=5) as stream:
                stream.settimeout(5)
                return stream.recv(8).startswith(b"SSH-2.0")
        except OSError:
            return False

    def cut_power(self):
        """Lets the disk kill qemu at one of its next writes. The disk keeps what was flushed, and a random part of the rest.
        Returns what the disk reports."""
        self.disk.send_signal(signal.SIGUSR1)
        return self._gone()

    def shut_down(self):
        """Powers the machine off as a person does, and waits until it is off."""
        self.run("root", "systemctl poweroff", check=False)
        self._await_end(300)
        return self._gone()

    def reboot(self):
        """Reboots. Returns the seconds from the command until ssh answers."""
        started = time.monotonic()
        self.run("root", "systemctl reboot", check=False)
        self._await_end(300)
        self._gone()
        self.start()
        return time.monotonic() - started

    def _await_end(self, timeout):
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Trouble(f"the machine does not shut down within {timeout} s; see {self.serial}") from None

    def _gone(self):
        self.process.wait(60)
        self.disk.wait(120)
        self.monitor.close()
        self.process = None
        for user in list(self.logins):
            self._ssh_control(user, "exit")
        self.logins.clear()
        report = json.loads(self.report.read_text())
        self.disk_reports.append(report)
        return report

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def end(self):
        """Ends qemu without ceremony, after a check."""
        if self.is_running():
            self.process.kill()
            self._gone()

    # Sleep

    def suspend(self):
        """Suspends to RAM, and returns when the machine sleeps."""
        self.monitor.events.clear()
        self.run("root", "systemctl suspend", check=False, timeout=60)
        self.monitor.wait_for("SUSPEND", 300)

    def wake(self):
        """Presses the power button of a sleeping machine. Returns when it answers on ssh."""
        self.monitor.execute("system_wakeup")
        self.monitor.wait_for("WAKEUP", 60)
        self._await_ssh(300)

    # Commands

    def _ssh(self, user):
        return ["ssh", "-F", "none", "-i", str(self.key), "-p", str(self.ports[22]), "-o", "StrictHostKeyChecking=no",
                "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "IdentitiesOnly=yes",
                "-o", "BatchMode=yes", "-o", "ConnectTimeout=60", "-o", "ServerAliveInterval=30",
                "-o", "ServerAliveCountMax=20", "-o", f"ControlPath={self.room}/ssh-%r"]

    def login_command(self, user):
        return [*self._ssh(user), f"{user}@127.0.0.1"]

    def _ssh_control(self, user, request):
        return subprocess.run([*self._ssh(user), "-O", request, f"{user}@127.0.0.1"], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=60)

    def log_in(self, user):
        """Opens a session of a user, which all commands of this user share until :meth:`log_out`."""
        if user not in self.logins:
            (self.room / f"ssh-{user}").unlink(missing_ok=True)
            outcome = subprocess.run(
                [*self._ssh(user), "-o", "ControlMaster=yes", "-o", "ControlPersist=3600", "-N", "-f", f"{user}@127.0.0.1"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=STEP * 2)
            if outcome.returncode != 0:
                raise Trouble(f"{user} cannot log in: {outcome.stderr.decode()}")
            self.logins.add(user)

    def log_out(self, user):
        """Closes the session of a user."""
        self._ssh_control(user, "exit")
        self.logins.discard(user)

    def run(self, user, command, check=True, timeout=STEP, input=None):
        """Runs a shell command as a user. Fails when its status is not 0, unless `check` is false."""
        self.log_in(user)
        try:
            outcome = subprocess.run([*self._ssh(user), f"{user}@127.0.0.1", command], capture_output=True, timeout=timeout,
                                     **({"input": input} if input is not None else {"stdin": subprocess.DEVNULL}))
        except subprocess.TimeoutExpired:
            raise Failure(f"{user}: {command!r} does not end within {timeout} s") from None
        result = Result(outcome.returncode, outcome.stdout.decode(errors="replace"), outcome.stderr.decode(errors="replace"))
        if check and result.status != 0:
            raise Failure(f"{user}: {command!r}: {result}")
        return result

    def put(self, path, text, user="root", mode=None):
        """Writes a file in the machine."""
        quoted = shlex.quote(path)
        self.run(user, f"mkdir -p {shlex.quote(os.path.dirname(path))} && cat >{quoted}" + (f" && chmod {mode} {quoted}" if mode else ""), input=text.encode())

    def output(self, user, command, **options):
        return self.run(user, command, **options).output.strip()


class Monitor:
    """qemu's monitor, QMP on a Unix socket."""

    def __init__(self, path):
        self.stream = socket.socket(socket.AF_UNIX)
        self.stream.settimeout(60)
        self.stream.connect(str(path))
        self.buffer = b""
        self.events = []
        self._message(60)
        self.execute("qmp_capabilities")

    def _message(self, timeout):
        deadline = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.stream], [], [], left)[0]:
                return None
            data = self.stream.recv(65536)
            if not data:
                raise Trouble("qemu closed its monitor")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def execute(self, command, **arguments):
        self.stream.sendall(json.dumps({"execute": command, "arguments": arguments}).encode())
        while True:
            message = self._message(60)
            if message is None:
                raise Trouble(f"qemu does not answer {command}")
            if "event" in message:
                self.events.append(message["event"])
            elif "error" in message:
                raise Trouble(f"{command}: {message['error']['desc']}")
            else:
                return message["return"]

    def wait_for(self, event, timeout):
        deadline = time.monotonic() + timeout
        while event not in self.events:
            message = self._message(max(0, deadline - time.monotonic()))
            if message is None:
                raise Failure(f"no {event} from qemu within {timeout} s")
            if "event" in message:
                self.events.append(message["event"])

    def forward(self, guest_ports):
        """Forwards free ports of 127.0.0.1 to ports of the machine. Returns them by the machine's port."""
        for port in guest_ports:
            answer = self.execute("human-monitor-command", **{"command-line": f"hostfwd_add net tcp:127.0.0.1:0-:{port}"})
            if answer.strip():
                raise Trouble(answer)
        table = self.execute("human-monitor-command", **{"command-line": "info usernet"})
        found = re.findall(r"TCP\[HOST_FORWARD\]\s+\d+\s+127\.0\.0\.1\s+(\d+)\s+\S+\s+(\d+)", table)
        return {int(guest): int(host) for host, guest in found}

    def set_link(self, up):
        self.execute("set_link", name="net", up=up)

    def close(self):
        self.stream.close()
