#!/usr/bin/env python3
"""Collects the fragments of the changelog for a release: changelog/unreleased/*.md become docs/releases/VERSION.md.

Usage: scripts/release.py VERSION
The script also writes the version into the sources. It commits nothing. See CONTRIBUTING.md, "Releases".
"""
import pathlib
import re
import sys

KINDS = ["Security", "Added", "Changed", "Fixed", "Removed"]
root = pathlib.Path(__file__).resolve().parent.parent


def collect(fragments):
    """Returns the list items of all fragments by kind, in the order of the fragments."""
    items = {kind: [] for kind in KINDS}
    for fragment in fragments:
        kind = None
        for line in fragment.read_text().splitlines():
            if line.startswith("## "):
                kind = line[3:]
                if kind not in items:
                    sys.exit(f"release: {fragment} has the unknown heading '{kind}'")
            elif line.strip():
                if kind is None:
                    sys.exit(f"release: {fragment} does not begin with a heading")
                items[kind].append(line)
    return items


def main(version):
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        sys.exit(f"release: '{version}' is not a version such as 0.2.0")
    fragments = sorted((root / "changelog/unreleased").glob("*.md"))
    if not fragments:
        sys.exit("release: changelog/unreleased has no fragments")
    items = collect(fragments)
    text = f"# Changes in {version}\n"
    for kind in KINDS:
        if items[kind]:
            text += f"\n## {kind}\n" + "\n".join(items[kind]) + "\n"
    (root / f"docs/releases/{version}.md").write_text(text)
    for fragment in fragments:
        fragment.unlink()
    source = root / "Sources/API/NightshiftAPI/Version.swift"
    source.write_text(re.sub(r'(current = )"[^"]*"', rf'\1"{version}"', source.read_text()))
    document = root / "Sources/API/COpenAPI/openapi.json"
    document.write_text(re.sub(r'("version": )"[^"]*"', rf'\1"{version}"', document.read_text()))
    print(f"Wrote docs/releases/{version}.md and the version. Write its summary into CHANGELOG.md, run the tests, commit, and tag v{version}.")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
