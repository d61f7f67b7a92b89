#!/usr/bin/env bash
# The bridge with a service and a home of its own, until it is ended.
# Usage: bridge.sh PORT SECRET DOWNLOADS [OPTIONS OF nightshiftd aria2 ...]
# NIGHTSHIFT_PROGRAMS is the folder of the programs (.build/debug).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
programs=${NIGHTSHIFT_PROGRAMS:-$here/../../../.build/debug}
port=$1 secret=$2 downloads=$3
shift 3

room=$(mktemp -d)
mkdir -p "$room/config"
echo "XDG_DOWNLOAD_DIR=\"$downloads\"" >"$room/config/user-dirs.dirs"
export NIGHTSHIFT_HOME=$room/home XDG_CONFIG_HOME=$room/config NIGHTSHIFT_ARIA2_SECRET=$secret
# The service of a test does not see the state of this machine.
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent
finish() {
    if [ -n "${!:-}" ]; then
        kill $! 2>/dev/null || true
        wait $! 2>/dev/null || true
    fi
    "$programs/nightshift" service stop >/dev/null 2>&1 || true
    rm -rf "$room"
}
trap finish EXIT
# A second signal would end the function `finish` before the service has ended.
trap "trap '' INT TERM; exit 143" INT TERM
"$programs/nightshiftd" aria2 --port "$port" "$@" &
# A test reads the memory of this process.
echo $! >"$downloads/.bridge-process"
wait $!
