"""The comparison of two answers files, field by field, with a list of named differences.

Used by play.py. An entry of the list is {"steps": PATTERN, "path": PATTERN, "why": SENTENCE}. The patterns are
those of fnmatch. A step is named SECTION/NAME. A path is like $.body.result.files.0.path; `:order` at its end
means that an object has the same members in another order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

ABSENT = "(absent)"


@dataclass
class Difference:
    """A field that the two servers answer differently."""

    step: str
    path: str
    reference: Any
    subject: Any

    def line(self) -> str:
        """Returns the difference in one line."""
        return f"{self.step}  {self.path}  {shown(self.reference)}  {shown(self.subject)}"


def shown(value: Any) -> str:
    """Returns a value for people, at most 200 characters of it."""
    text = value if value == ABSENT else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:200] + "…"


def fields(reference: Any, subject: Any, path: str = "$") -> Iterator[tuple[str, Any, Any]]:
    """Yields the path and the two values of each field that differs."""
    if isinstance(reference, dict) and isinstance(subject, dict):
        yield from members(reference, subject, path)
    elif isinstance(reference, list) and isinstance(subject, list):
        for at in range(max(len(reference), len(subject))):
            left = reference[at] if at < len(reference) else ABSENT
            right = subject[at] if at < len(subject) else ABSENT
            yield from fields(left, right, f"{path}.{at}")
    elif type(reference) is not type(subject) or reference != subject:
        yield path, reference, subject


def members(reference: dict[str, Any], subject: dict[str, Any], path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yields the differing members of two objects, and their order if that differs."""
    for name in [*reference, *(name for name in subject if name not in reference)]:
        yield from fields(reference.get(name, ABSENT), subject.get(name, ABSENT), f"{path}.{name}")
    left = [name for name in reference if name in subject]
    right = [name for name in subject if name in reference]
    if left != right:
        yield f"{path}:order", left, right


def differences(reference: list[dict[str, Any]], subject: list[dict[str, Any]]) -> list[Difference]:
    """Returns every difference between the answers of two runs of the same script."""
    if [step["step"] for step in reference] != [step["step"] for step in subject]:
        raise ValueError("The two answers files are not of the same script.")
    return [
        Difference(left["step"], path, old, new)
        for left, right in zip(reference, subject)
        for path, old, new in fields(left["answer"], right["answer"])
    ]


@dataclass
class Verdict:
    """The differences of two runs, sorted by whether the list names them."""

    named: list[Difference]
    unnamed: list[Difference]
    unused: list[dict[str, str]]

    @property
    def is_good(self) -> bool:
        """Whether each difference is named and each name is used."""
        return not self.unnamed and not self.unused


def matches(entry: dict[str, str], difference: Difference) -> bool:
    """Returns whether an entry of the list names the difference."""
    return fnmatchcase(difference.step, entry["steps"]) and fnmatchcase(difference.path, entry["path"])


def judge(found: list[Difference], entries: list[dict[str, str]]) -> Verdict:
    """Sorts differences by the list of named ones."""
    used = [entry for entry in entries if any(matches(entry, difference) for difference in found)]
    named = [difference for difference in found if any(matches(entry, difference) for entry in entries)]
    unnamed = [difference for difference in found if difference not in named]
    return Verdict(named, unnamed, [entry for entry in entries if entry not in used])


def check_entries(entries: Any) -> list[dict[str, str]]:
    """Returns the list of named differences; raises ValueError if it is not one."""
    if not isinstance(entries, list):
        raise ValueError("The list of differences is not a list.")
    for entry in entries:
        if not isinstance(entry, dict) or set(entry) != {"steps", "path", "why"} or not all(entry.values()):
            raise ValueError(f"An entry needs steps, path and why: {json.dumps(entry)}")
    return entries


def report(verdict: Verdict) -> None:
    """Prints what is wrong."""
    for difference in verdict.unnamed:
        print("differs:", difference.line())
    for entry in verdict.unused:
        print(f"no longer differs: {entry['steps']}  {entry['path']}  ({entry['why']})")
