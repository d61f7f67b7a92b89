"""Variables in the steps of the script, and placeholders for values that must vary between two runs.

Used by play.py. A step names `${origin}`, `${dir}`, `${gid:NAME}`; an answer gets the same names back.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

import origin as local_origin

GID = re.compile(r"[0-9a-f]{16}")
VARIABLE = re.compile(r"\$\{([^}]*)\}")
SPEEDS = {"downloadSpeed", "uploadSpeed"}
VERSION = re.compile(r"\b\d+\.\d+\.\d+\b")


class Variables:
    """The values of one run: where the origin, the server and the download folder are, and which GIDs it chose."""

    def __init__(self, rpc: str, secret: str, folder: str, origin: str) -> None:
        self.port = str(urlsplit(rpc).port)
        self.secret = secret
        self.folder = folder
        self.origin = origin
        self.gids: dict[str, str] = {}

    def lookup(self, name: str) -> str:
        """Returns the value of a variable."""
        kind, _, argument = name.partition(":")
        if kind == "gid":
            return self.gids.get(argument, f"no gid {argument}")
        if kind == "sha256":
            return local_origin.sha256(int(argument))
        if kind == "sha1":
            return local_origin.sha1(int(argument))
        if kind == "fill":
            return "x" * int(argument)
        plain = {
            "origin": self.origin,
            "host": urlsplit(self.origin).netloc,
            "dir": self.folder,
            "secret": self.secret,
            "token": f"token:{self.secret}",
        }
        return plain[name]

    def expand(self, value: Any) -> Any:
        """Returns a value of the script with its variables replaced."""
        if isinstance(value, str):
            return VARIABLE.sub(lambda match: self.lookup(match[1]), value)
        if isinstance(value, list):
            return [self.expand(member) for member in value]
        if isinstance(value, dict):
            return {self.expand(key): self.expand(member) for key, member in value.items()}
        return value

    def save_gid(self, name: str, value: Any) -> None:
        """Remembers a GID that the server chose."""
        if isinstance(value, str) and GID.fullmatch(value):
            self.gids[name] = value

    def conceal_text(self, text: str) -> str:
        """Returns a text of an answer with the values of this run replaced by their names."""
        text = text.replace(self.origin, "${origin}").replace(urlsplit(self.origin).netloc, "${host}")
        text = text.replace(self.folder, "${dir}")
        home = os.environ.get("HOME", "")
        if len(home) > 1:
            text = text.replace(home + "/", "${home}/")
        for name, gid in self.gids.items():
            text = text.replace(gid, f"gid:{name}")
        text = re.sub(r"\bCUID#\d+", "CUID#${number}", text)
        text = re.sub(r"\baria2/\d+\.\d+\.\d+", "aria2/${version}", text)
        return re.sub(r"\bA2(-\d+){3}-", "A2-${version}-", text)

    def conceal(self, value: Any, key: str = "") -> Any:
        """Returns an answer with the values of this run replaced by their names."""
        if isinstance(value, dict):
            return {self.conceal_text(name): self.conceal(member, name) for name, member in value.items()}
        if isinstance(value, list):
            return [self.conceal(member, key) for member in value]
        if not isinstance(value, str):
            return value
        if key in SPEEDS and value.isdigit():
            return "${speed}"
        if key == "sessionId" and re.fullmatch(r"[0-9a-f]{40}", value):
            return "${session}"
        if key == "version" and VERSION.fullmatch(value):
            return "${version}"
        if key == "rpc-listen-port" and value == self.port:
            return "${port}"
        return self.conceal_text(value)


def type_name(value: Any) -> str:
    """Returns the placeholder of a value whose type alone is compared."""
    if isinstance(value, str):
        return "${digits}" if value.isdigit() else "${text}"
    if isinstance(value, bool) or value is None:
        return "${boolean}" if value is not None else "${null}"
    return {int: "${integer}", float: "${number}", list: "${list}", dict: "${object}"}[type(value)]


def generalize(value: Any, patterns: list[str], path: str = "$") -> Any:
    """Returns an answer in which the values at paths that match a pattern are replaced by their types."""
    if any(fnmatchcase(path, pattern) for pattern in patterns):
        return type_name(value)
    if isinstance(value, dict):
        return {name: generalize(member, patterns, f"{path}.{name}") for name, member in value.items()}
    if isinstance(value, list):
        return [generalize(member, patterns, f"{path}.{at}") for at, member in enumerate(value)]
    return value
