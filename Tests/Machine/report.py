"""Writes the page of a run's results."""

import datetime


def page(run, outcomes, seconds):
    facts = run.image.read_facts()
    failed = sum(outcome.result == "FAIL" for outcome in outcomes)
    passed = sum(outcome.result == "ok" for outcome in outcomes)
    lines = [
        "# Machine test",
        "",
        "`make machine-test` wrote this page. It installs the packages on a Debian machine in qemu and checks what only a whole machine can",
        "show: an init, real sleep, power cuts, other users ([0070](decisions/0070-machine-tests.md)).",
        "",
        f"- **Date**: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}, in {datetime.timedelta(seconds=round(seconds))}",
        f"- **Machine**: Debian {facts['debian']}, Linux {facts['kernel']}, qemu with software emulation and one processor",
        "- **Its software**: " + ", ".join(f"{name} {version}" for name, version in facts["packages"].items()),
        "- **Packages**: " + ", ".join(f"`{name}` {version}" for name, version in run.packages.versions().items()),
        f"- **Seed**: {run.seed}",
        f"- **Result**: {passed} passed, {failed} failed, {len(outcomes) - passed - failed} not run",
        "",
        "| Check | Claim | Result | Figures | Time |",
        "|---|---|---|---|---|",
    ]
    for outcome in outcomes:
        figures = " ".join(outcome.figures.split()).replace("|", "\\|")
        lines.append(f"| `{outcome.check.name}` | {outcome.check.claim} | {outcome.result} | {figures[:600]} | {outcome.seconds:.0f} s |")
    return "\n".join(lines) + "\n"
