#!/usr/bin/env bash
# Builds the Debian packages and the archive of the library's package into .build-deb/, and checks them with lintian.
# Called by `make deb`, which names the folders of the programs in BINARIES and GATEWAYBINARIES.
#
# Usage: scripts/deb.sh [--output FOLDER] [--version VERSION]. --version gives only the packages, and they differ only in
# their number: tests upgrade from them. DEBFULLNAME and DEBEMAIL name the maintainer.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "deb: $*" >&2
    exit 1
}

output=.build-deb
only_packages=false
version=$(sed -n 's/.*current = "\(.*\)".*/\1/p' Sources/API/NightshiftAPI/Version.swift)
while [ $# -gt 0 ]; do
    case "$1" in
        --output) output=$2 ;;
        --version)
            version=$2
            only_packages=true
            # They are not kept: fast, not small.
            export DPKG_DEB_COMPRESSOR_LEVEL=1
            ;;
        *) fail "unknown option $1" ;;
    esac
    shift 2
done
[ -n "$version" ] || fail "Sources/API/NightshiftAPI/Version.swift has no version"
: "${BINARIES:?the folder of the programs; make deb sets it}"
[ -x "$BINARIES/nightshift" ] && [ -x "$BINARIES/nightshiftd" ] || fail "there are no programs in $BINARIES"

# The same sources give the same packages: their date is that of the newest commit.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Package.swift)}
maintainer="${DEBFULLNAME:-Nightshift maintainers} <${DEBEMAIL:-maintainers@nightshift.example}>"
date=$(LC_ALL=C date -u -d "@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %H:%M:%S +0000')

mkdir -p "$output"
output=$(cd "$output" && pwd)
rm -rf "$output"/build "$output"/library
rm -f "$output"/*.deb "$output"/*.changes "$output"/*.buildinfo "$output"/*.tar.gz

# 1. The packages.
mkdir "$output/build"
cp -r packaging/debian "$output/build/debian"
sed -i "s|@MAINTAINER@|$maintainer|; s|@DATE@|$date|" "$output"/build/debian/control "$output"/build/debian/*.NEWS
cat >"$output/build/debian/changelog" <<CHANGELOG
nightshift ($version-1) unstable; urgency=medium

  * Version $version. CHANGELOG.md in the folder of this file lists the changes.

 -- $maintainer  $date
CHANGELOG
# NEWS of the gateway refers to this entry.
if dpkg --compare-versions "$version" gt 0.2.0; then
    cat >>"$output/build/debian/changelog" <<CHANGELOG

nightshift (0.2.0-1) unstable; urgency=medium

  * The first version with packages.

 -- $maintainer  Sat, 28 Nov 2026 00:00:00 +0000
CHANGELOG
fi
(
    cd "$output/build"
    # Make's own variables are for this project's Makefile, and not for debian/rules.
    unset MAKEFLAGS MAKELEVEL MFLAGS
    # The libraries of the build are needed only to build programs; these are built.
    SOURCE=$OLDPWD BINARIES=$BINARIES GATEWAYBINARIES=${GATEWAYBINARIES:-} \
        dpkg-buildpackage --build=binary --no-sign --no-check-builddeps
) >"$output/build.log" 2>&1 || {
    tail -n 30 "$output/build.log" >&2
    fail "dpkg-buildpackage failed; $output/build.log has all of its output"
}
rm -rf "$output/build"
! $only_packages || exit 0

# 2. The library: an app depends on it by its path.
name=nightshift-swift-$version
library=$output/library/$name
mkdir -p "$library/Sources"
{ cat Package.swift && echo && cat packaging/library/manifest.swift; } >"$library/Package.swift"
sed "s/@VERSION@/$version/g" packaging/library/README.md >"$library/README.md"
cp LICENSE "$library"
targets=$(swift package --package-path "$library" dump-package |
    python3 -c 'import json, sys; print(*[target["path"] for target in json.load(sys.stdin)["targets"]])')
for target in $targets; do cp -r --parents "$target" "$library"; done
rm -rf "$library"/.build
tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode='u=rwX,go=rX' \
    --directory "$output/library" "$name" | gzip -9 --no-name >"$output/$name.tar.gz"
rm -rf "$output/library"
mkdir "$output/library"
tar --extract --file "$output/$name.tar.gz" --directory "$output/library"
swift package --package-path "$library" describe >"$output/library.txt" || fail "SwiftPM refuses $name.tar.gz"
rm -rf "$output/library"

# 3. Errors of lintian fail the build. Warnings are printed.
lintian --allow-root --fail-on error --tag-display-limit 0 "$output"/*.changes

(cd "$output" && ls -l -- *.deb *.tar.gz)
