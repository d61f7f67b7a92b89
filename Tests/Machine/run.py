#!/usr/bin/env python3
"""Installs Nightshift on a whole Debian machine in qemu, and checks what only a whole machine can show.

Usage: run.py [--only NAME ...] [--short] [--rounds N] [--debs FILE ...] [--seed N] [--output FILE] [--list]
"""

import argparse
import datetime
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))

import checks
import report
from image import Image
from machine import Failure, Machine, Trouble, processes
from origin import Origin
from packages import ROOT, Packages

CACHE = ROOT / ".build-machine"


class NotRun(Exception):
    """Why a check cannot run."""


class Run:
    """What all checks of one run share: the image, the packages, the server on the host, and the directory of the machines."""

    def __init__(self, options, room):
        self.options = options
        self.room = room
        self.image = Image(CACHE)
        self.seed = options.seed
        self.rounds = options.rounds
        self.short = options.short
        self.key = room / "key"
        self.origin = Origin()
        self.installed = None
        self.machine = None
        self.logs = CACHE / "logs"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.key)], check=True)
        self.packages = Packages(options.debs)
        for path in self.packages.files.values():
            self.origin.packages[path.name] = path

    def fresh_machine(self, name, **options):
        """Boots a machine on which nothing is installed."""
        return self._boot(Machine(self.image, self.room, name, seed=self.seed, key=self.key, **options))

    def installed_machine(self, name, **options):
        """Boots a machine on which the packages are installed. In the short form it is the one that runs already."""
        if self.short and self.machine is not None and self.machine.is_running():
            return self.machine
        if self.installed is None:
            raise Trouble("the packages are not installed yet")
        return self._boot(Machine(self.image, self.room, name, lower=[self.installed], seed=self.seed, key=self.key, **options))

    def _boot(self, machine):
        if self.machine is not None:
            self.machine.end()
        self.machine = machine
        machine.boot_seconds = machine.start()
        return machine

    def random(self, name):
        return random.Random(f"{self.seed}-{name}")

    def hold(self):
        """Leaves the machine running for a person, until ^C."""
        print(f"The machine runs. ^C ends it. Log in with:\n    {shlex.join(self.machine.login_command('root'))}", flush=True)
        try:
            while self.machine.is_running():
                time.sleep(1)
        except KeyboardInterrupt:
            pass

    def keep_logs(self, name):
        """Copies what a failed check leaves: the serial log, qemu's messages, and the machine's journal."""
        if self.machine is None:
            return
        target = self.logs / name
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for log in self.machine.room.glob("*.log"):
            shutil.copy(log, target)
        try:
            if not self.machine.is_running():
                self.machine.start()
            journal = self.machine.run("root", "journalctl --no-pager --output=short-precise", check=False, timeout=300)
            (target / "journal.txt").write_text(journal.output)
            for name, command in [("decisions.jsonl", "nightshift journal --json"), ("transfers.json", "nightshift list --all --json"),
                                  ("apps.json", "nightshift app list --json")]:
                (target / name).write_text(self.machine.run("ada", command, check=False, timeout=300).output)
        except (Failure, Trouble, subprocess.TimeoutExpired, OSError) as error:
            (target / "journal.txt").write_text(f"The journal cannot be read: {error}\n")


class Outcome:
    """The result of one check."""

    def __init__(self, check, result, figures, seconds):
        self.check, self.result, self.figures, self.seconds = check, result, figures, seconds

    def __str__(self):
        return f"{self.result:8}{self.check.name:22}{self.seconds:6.0f} s   {self.figures}"


def perform(check, run):
    started = time.monotonic()
    kept = None
    try:
        missing = [name for name in check.needs if name not in run.packages]
        if missing:
            raise NotRun(f"the package {missing[0]} was not given")
        run.origin.reset()
        result, figures = "ok", check.function(run) or ""
    except NotRun as error:
        result, figures = "not run", str(error)
    except checks.Skip as error:
        result, figures = "not run", str(error)
    except Failure as error:
        result, figures = "FAIL", str(error)
    except (Trouble, subprocess.SubprocessError, OSError) as error:
        result, figures = "FAIL", f"the test machine has a problem: {error}"
    except Exception:
        result, figures = "FAIL", traceback.format_exc()
    seconds = time.monotonic() - started
    if result == "FAIL":
        if run.options.hold and run.machine is not None and run.machine.is_running():
            print(Outcome(check, result, figures, seconds), flush=True)
            run.hold()
        run.keep_logs(check.name)
        kept = run.logs / check.name
    outcome = Outcome(check, result, figures, seconds)
    print(outcome, flush=True)
    if kept:
        print(f"        logs are in {kept}", flush=True)
    return outcome


def options():
    parser = argparse.ArgumentParser(description="Checks Nightshift on a whole Debian machine in qemu.")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="run these checks, and those that they build on")
    parser.add_argument("--short", action="store_true", help="boot, install, a download, and one power cut")
    parser.add_argument("--rounds", type=int, default=50, help="power cuts (50)")
    parser.add_argument("--debs", nargs="+", type=Path, metavar="FILE", help="the packages to install (.build-deb/*.deb)",
                        default=[Path(name) for name in os.environ.get("DEBS", "").split()] or sorted((ROOT / ".build-deb").glob("*.deb")))
    parser.add_argument("--hold", action="store_true", help="leave the machine running after a failure, until ^C")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--output", metavar="FILE", help="write a table of the results")
    parser.add_argument("--list", action="store_true", help="print the names of the checks")
    chosen = parser.parse_args()
    known = [check.name for check in checks.ALL]
    unknown = [name for name in chosen.only or [] if name not in known]
    if unknown:
        parser.error(f"no check {unknown[0]}; there are {', '.join(known)}")
    if not chosen.debs and not chosen.list:
        parser.error("no packages: run 'make deb', or name them with --debs")
    if chosen.seed is None:
        chosen.seed = random.SystemRandom().randrange(1 << 32)
    if chosen.short:
        chosen.rounds = 1
    return chosen


def select(chosen):
    if chosen.short:
        return [check for check in checks.ALL if check.in_short_form]
    if not chosen.only:
        return checks.ALL
    # Everything but the first boot needs an installed machine.
    return [check for check in checks.ALL
            if check.name in chosen.only or (check.name == "install" and set(chosen.only) != {"boot"})]


def main():
    chosen = options()
    if chosen.list:
        for check in checks.ALL:
            print(f"{check.name:22}{check.claim}")
        return 0
    # A signal ends the run as ^C does, so that nothing stays.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    CACHE.mkdir(exist_ok=True)
    room = Path(tempfile.mkdtemp(prefix="nightshift-machine-"))
    started = time.monotonic()
    outcomes = []
    try:
        run = Run(chosen, room)
        if not run.image.exists():
            run.image.build(lambda text: print(text, flush=True))
        facts = run.image.read_facts()
        print(f"Debian {facts['debian']}, Linux {facts['kernel']}, systemd {facts['packages']['systemd']}; "
              + ", ".join(f"{name} {version}" for name, version in run.packages.versions().items())
              + f"; seed {chosen.seed}", flush=True)
        for check in select(chosen):
            outcomes.append(perform(check, run))
            if check.is_required and outcomes[-1].result != "ok":
                print("The other checks need this one.", flush=True)
                break
        if chosen.output and run.image.exists():
            Path(chosen.output).write_text(report.page(run, outcomes, time.monotonic() - started))
    except KeyboardInterrupt:
        print("machine-test: interrupted", file=sys.stderr)
        return 130
    finally:
        processes.end_all()
        shutil.rmtree(room, ignore_errors=True)
    failed = [outcome for outcome in outcomes if outcome.result == "FAIL"]
    print(f"{len(outcomes) - len(failed)} of {len(outcomes)} checks without a failure, "
          f"in {datetime.timedelta(seconds=round(time.monotonic() - started))}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
