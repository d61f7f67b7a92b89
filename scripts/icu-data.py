#!/usr/bin/env python3
"""Writes a small copy of the locale data that the Swift toolchain links into each static program.

Foundation contains ICU with the data of all languages, 34 MB. The programs of Nightshift speak English, so this copy has the
data of the root locale and of English, and everything that does not depend on a language (4 MB).

The copy has a name of its own. A linker replaces the original with --defsym, and leaves the original out with --gc-sections,
because nothing refers to it any longer. The script prints the name of the original.

Usage: icu-data.py ARCHIVE ASSEMBLY
  ARCHIVE   lib_FoundationICU.a of the toolchain
  ASSEMBLY  the assembler file to write; its data file is written next to it

The format is ICU's "CmnD" package: a header, then a table of contents with offsets of names and items, sorted by name
(icu4c/source/common/ucmndata.h).
"""
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

NAME = "nightshift_icu_data"
LOCALES = {"root", "en", "en_001", "en_US", "en_US_POSIX", "pool", "res_index", "supplementalData", "tzdbNames"}


def is_kept(name):
    """Returns whether an item is copied. The name has no package prefix, for example `zone/de_AT.res`."""
    folder, _, file = name.rpartition("/")
    base, _, kind = file.rpartition(".")
    if kind in ("icu", "nrm"):
        return True
    # Converters of old character sets, checks for confusable names, dictionaries of words, transliteration.
    if kind in ("cnv", "spp", "cfu", "dict") or folder == "translit":
        return False
    if folder == "brkitr" and kind == "brk":
        return "_" not in base
    # At the top, locales are among tables with longer names, such as `zoneinfo64` and `metadata`.
    if folder or re.fullmatch(r"[a-z]{2,3}(_\w+)*", base):
        return base in LOCALES
    return True


def items(package):
    """Returns the header of a package, and its items by name."""
    header, magic, big_endian = struct.unpack_from("<HH4xB", package)
    if magic != 0x27DA or big_endian or package[12:16] != b"CmnD":
        sys.exit("icu-data: the archive does not contain a package of ICU data for this kind of machine")
    (count,) = struct.unpack_from("<I", package, header)
    table = [struct.unpack_from("<II", package, header + 4 + 8 * index) for index in range(count)]
    ends = [data for _, data in table[1:]] + [len(package) - header]
    found = {}
    for (name, start), end in zip(table, ends):
        first = header + name
        found[package[first : package.index(b"\0", first)].decode()] = package[header + start : header + end]
    return package[:header], found


def package(header, found):
    """Returns a package with the given items. Each begins at a multiple of 16 bytes."""
    names = sorted(found)
    position = 4 + 8 * len(names)
    table, texts, bodies = [], b"", b""
    for name in names:
        table.append([position + len(texts), 0])
        texts += name.encode() + b"\0"
    position += len(texts)
    for entry, name in zip(table, names):
        bodies += b"\0" * (-(position + len(bodies)) % 16)
        entry[1] = position + len(bodies)
        bodies += found[name]
    entries = b"".join(struct.pack("<II", *entry) for entry in table)
    return header + struct.pack("<I", len(names)) + entries + texts + bodies


def main(archive, assembly):
    member = "icu_packaged_data.cpp.o"
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["ar", "x", str(archive.resolve()), member], cwd=scratch, check=True)
        symbols = subprocess.run(["nm", member], cwd=scratch, check=True, capture_output=True, text=True).stdout
        symbol = re.search(r" R (icudt\d+_dat)$", symbols, re.M)
        if not symbol:
            sys.exit(f"icu-data: {member} does not define the data of ICU")
        subprocess.run(["objcopy", "-O", "binary", "-j", ".rodata", member, "data"], cwd=scratch, check=True)
        header, all_items = items((pathlib.Path(scratch) / "data").read_bytes())
    kept = {name: item for name, item in all_items.items() if is_kept(name.partition("/")[2])}
    data = assembly.with_suffix(".dat")
    data.write_bytes(package(header, kept))
    assembly.write_text(
        f"""    .section .rodata
    .globl {NAME}
    .type {NAME}, @object
    .balign 16
{NAME}:
    .incbin "{data.resolve()}"
    .size {NAME}, . - {NAME}
    .section .note.GNU-stack, "", @progbits
"""
    )
    print(symbol[1])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
