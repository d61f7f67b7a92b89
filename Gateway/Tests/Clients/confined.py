"""Runs a program under the filters of a systemd unit: `python3 confined.py UNIT PROGRAM ARGUMENT...`.

If root runs this and the unit has a user of its own, the program runs as the user NOBODY, because root's rights lead to other system
calls. This does not need a running systemd: systemd's tool expands the groups of system calls, and libseccomp makes the filters.
A call that the unit does not allow kills the program (SIGSYS), whatever the unit's SystemCallErrorNumber is. So the list of the unit
must have every call that the program needs.
"""

import ctypes
import ctypes.util
import errno
import os
import socket
import subprocess
import sys

KILL, ALLOW, ERROR = 0x80000000, 0x7FFF0000, 0x00050000
EQUAL, MASKED = 4, 7
WRITE, EXECUTE = 2, 4
NO_NEW_PRIVILEGES = 38
NOBODY = 65534


class Comparison(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("operator", ctypes.c_int), ("first", ctypes.c_uint64),
                ("second", ctypes.c_uint64)]


def settings(unit):
    """Returns the values of each setting of a unit file, in order."""
    found = {}
    with open(unit) as file:
        for line in file:
            name, equals, value = line.strip().partition("=")
            if equals and not name.startswith(("#", ";")):
                found.setdefault(name, []).append(value)
    return found


def expanded(words):
    """Returns the names of the system calls in a list of calls and groups."""
    names = set()
    for word in words:
        if not word.startswith("@"):
            names.add(word)
            continue
        lines = subprocess.run(
            ["systemd-analyze", "syscall-filter", word], capture_output=True, encoding="utf-8", check=True).stdout
        members = [line.strip() for line in lines.split("\n")[1:]]
        names |= expanded(member for member in members if member and not member.startswith("#"))
    return names


def allowed_calls(values):
    """Returns the calls that a unit allows whose first list is one of allowed calls (systemd.exec(5), SystemCallFilter=)."""
    assert not values[0].startswith("~"), "the first list says what is allowed"
    names = expanded(["@default"])
    for value in values:
        if value.startswith("~"):
            names -= expanded(value[1:].split())
        else:
            names |= expanded(value.split())
    return names


class Filter:
    def __init__(self, default):
        self.library = ctypes.CDLL(ctypes.util.find_library("seccomp"), use_errno=True)
        self.library.seccomp_init.restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.library.seccomp_init(ctypes.c_uint32(default)))

    def add(self, action, call, *comparisons):
        number = self.library.seccomp_syscall_resolve_name(call.encode())
        # Calls of other architectures have no number here, or a negative one.
        if number < 0:
            return
        array = (Comparison * max(1, len(comparisons)))(*comparisons)
        result = self.library.seccomp_rule_add_array(
            self.context, ctypes.c_uint32(action), number, len(comparisons), array)
        assert result == 0, (call, result)

    def load(self):
        result = self.library.seccomp_load(self.context)
        assert result == 0, f"the filter was not loaded: {os.strerror(-result)}"


def filters_of(found):
    """Returns the filters of a unit with these settings, in the order in which they can be loaded."""
    filters = []
    if "RestrictAddressFamilies" in found:
        names = [getattr(socket, name) for value in found["RestrictAddressFamilies"] for name in value.split()]
        families = Filter(ALLOW)
        for family in set(range(64)) - {int(name) for name in names}:
            families.add(ERROR | errno.EAFNOSUPPORT, "socket", Comparison(0, EQUAL, family, 0))
        filters.append(families)
    if found.get("MemoryDenyWriteExecute") == ["yes"]:
        memory = Filter(ALLOW)
        both = WRITE | EXECUTE
        memory.add(ERROR | errno.EPERM, "mmap", Comparison(2, MASKED, both, both))
        memory.add(ERROR | errno.EPERM, "mprotect", Comparison(2, MASKED, EXECUTE, EXECUTE))
        filters.append(memory)
    calls = Filter(KILL)
    for name in sorted(allowed_calls(found["SystemCallFilter"])):
        calls.add(ALLOW, name)
    # The filter that forbids further filters comes last.
    return filters + [calls]


if __name__ == "__main__":
    library = ctypes.CDLL(None, use_errno=True)
    assert library.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
    unit = settings(sys.argv[1])
    filters = filters_of(unit)
    if unit.get("DynamicUser") == ["yes"] and os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    for each in filters:
        each.load()
    os.execv(sys.argv[2], sys.argv[2:])
