#!/usr/bin/env bash
# Prints the options of `swift build` that make the released programs small (docs/decisions/0072). Usage: link-options.sh
#
# What the options do: the data of ICU is replaced by a small copy; symbols are not exported, so that unused code is left
# out; and relocations are stored compactly, which needs glibc 2.36.
set -euo pipefail
cd "$(dirname "$0")/.."

runtime=$(dirname "$(readlink -f "$(command -v swift)")")/../lib/swift_static/linux
archive=$runtime/lib_FoundationICU.a
options=(-Xswiftc -use-ld=lld -Xlinker --no-export-dynamic)

if [ -e "$archive" ] && command -v python3 >/dev/null; then
    folder=.build-icu
    object=$PWD/$folder/icu-data.o
    if [ ! -e "$object" ] || [ "$archive" -nt "$object" ] || [ scripts/icu-data.py -nt "$object" ]; then
        mkdir -p "$folder"
        scripts/icu-data.py "$archive" "$folder/icu-data.s" >"$folder/original"
        cc -c "$folder/icu-data.s" -o "$object.new"
        mv "$object.new" "$object"
    fi
    options+=(-Xlinker "$object" -Xlinker "--defsym=$(cat "$folder/original")=nightshift_icu_data")
else
    echo "link-options: $archive or python3 is missing, so the programs contain the data of all languages" >&2
fi

glibc=$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)
if [ "$(printf '%s\n' 2.36 "$glibc" | sort -V | head -n 1)" = 2.36 ]; then
    options+=(-Xlinker -z -Xlinker pack-relative-relocs)
fi
printf '%s\n' "${options[@]}"
