#!/usr/bin/env bash
# Sees to it that the system packages of the named groups are there: installs what is missing where it may, and
# otherwise prints the command that does. Usage: scripts/packages.sh build|test|bench|gateway|push|cluster|deb|deb-test|machine ...
set -euo pipefail

build=(
    libcurl4-openssl-dev libssl-dev libsqlite3-dev libexpat1-dev libsystemd-dev zlib1g-dev libxcb1-dev libwayland-dev
)
test=(
    aria2 nginx apache2 apache2-bin apache2-utils openssl curl strace e2fsprogs xfsprogs mount util-linux python3-venv procps systemd
    iproute2 sqlite3 coreutils tmux dbus-daemon python3-dbusmock faketime
    gpsd gpsd-clients python3-gps jq libseccomp2
    zsh fish mandoc
    libfuse3-dev fuse3 pkg-config ntfs-3g bindfs sshfs openssh-sftp-server exfat-fuse exfatprogs dosfstools fuse-overlayfs acl
    sway foot openbox xdotool x11-utils xvfb xterm chromium chromium-driver
)
bench=(aria2 axel wget2 curl nginx openssl nghttp2-client iproute2 util-linux)
gateway=(
    python3-venv nghttp2-client dbus-daemon python3-dbus python3-gi nats-server libnats-dev libsystemd-dev systemd libseccomp2 util-linux
)
# What the gateway is linked with; its tests and its demo are built with it, too.
cluster=(libnats-dev libsystemd-dev)
push=(dbus-daemon dbus-bin python3 python3-dbusmock openssl curl libnats-dev libsystemd-dev)
# For the Debian packages, and for their test.
deb=(dpkg-dev debhelper lintian pkg-config systemd python3)
debtest=(debootstrap util-linux appstream desktop-file-utils)
machine=(qemu-system-x86 qemu-system-data seabios debootstrap e2fsprogs openssh-client openssl curl python3 dpkg)

wanted=()
for group in "$@"; do
    case "$group" in
        build | test | bench | gateway | push | cluster | deb | deb-test | machine)
            declare -n members="${group/-/}"
            wanted+=("${members[@]}")
            ;;
        *)
            echo "packages: no group '$group'; there are build, test, bench, gateway, push, cluster, deb, deb-test and machine" >&2
            exit 2
            ;;
    esac
done

if ! command -v swift >/dev/null; then
    echo "packages: Swift 6.2 or later is needed and not in PATH: https://www.swift.org/install/linux/" >&2
    exit 1
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "packages: not a Debian-like system; what is needed carries these names there: ${wanted[*]}" >&2
    exit 0
fi

present=$(dpkg-query --show --showformat='${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null || true)
missing=()
for package in "${wanted[@]}"; do
    grep -qx "$package installed" <<<"$present" || missing+=("$package")
done
if [ "${#missing[@]}" -eq 0 ]; then
    exit 0
fi

if [ "$(id -u)" -eq 0 ]; then
    root=()
elif command -v sudo >/dev/null && sudo --non-interactive true 2>/dev/null; then
    root=(sudo --non-interactive)
else
    echo "packages: please install what is missing and try again:" >&2
    echo "    sudo apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
fi

# nginx and Apache would start a service of their own on being installed. The tests start them on ports of their own.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap '"${root[@]}" rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee "$policy" >/dev/null
    "${root[@]}" chmod 755 "$policy"
fi

echo "packages: installing ${missing[*]}"
"${root[@]}" apt-get update --quiet=2 || echo "packages: the package lists could not be refreshed" >&2
"${root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
    apt-get install --yes --quiet=2 --option Dpkg::Use-Pty=0 --no-install-recommends "${missing[@]}"
