#!/usr/bin/env bash
# Runs clients of aria2 that others wrote against the bridge, and compares the bridge with aria2.
# Usage: run.sh differential|suite|aria2p|aioaria2|xmlrpc|ariang|hostile; `run.sh --prepare` only installs the clients.
# NIGHTSHIFT_PROGRAMS is the folder of the programs (.build/debug).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=Tests/Peers/environment.sh
source "$here/../environment.sh"

mapfile -t packages < <(grep -v '^#' "$here/requirements.txt")
python_environment aria2 "${packages[@]}"
part=$1
if [ "$part" = --prepare ]; then exec "$here/suite/run.sh" --prepare; fi
if [ "$part" = suite ]; then exec "$here/suite/run.sh"; fi

if [ "$part" = differential ]; then
    exec "$python" -B "$here/differential/run.py" --subject "$here/bridge.sh {port} {secret} {dir}"
fi

free_port() {
    "$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

room=$(mktemp -d)
port=$(free_port)
secret=sesame
options=()
more=()
case $part in
aria2p) program=try_aria2p.py more=(--durable) ;;
aioaria2) program=try_aioaria2.py ;;
xmlrpc) program=try_xmlrpc.py ;;
ariang)
    program=ariang.py
    pages=$(free_port)
    more=(--pages "$pages" --cors)
    options=(--allow-origin "http://127.0.0.1:$pages" --allow-origin null)
    ;;
hostile) program=hostile.py more=(--bridge --memory 64) ;;
*)
    echo "run.sh: there is no part '$part'" >&2
    exit 2
    ;;
esac

"$here/bridge.sh" "$port" "$secret" "$room" "${options[@]}" >"$room/bridge.log" 2>&1 &
bridge=$!
finish() {
    status=$?
    kill "$bridge" 2>/dev/null || true
    wait "$bridge" 2>/dev/null || true
    [ "$status" -eq 0 ] || tail -n 20 "$room/bridge.log" >&2
    rm -rf "$room"
}
trap finish EXIT
trap "trap '' INT TERM; exit 143" INT TERM

tries=0
until curl --silent --max-time 5 --output /dev/null "http://127.0.0.1:$port/jsonrpc"; do
    tries=$((tries + 1))
    if [ "$tries" -gt 600 ] || ! kill -0 "$bridge" 2>/dev/null; then
        echo "run.sh: the bridge does not start" >&2
        exit 1
    fi
    sleep 0.1
done
[ "$part" != hostile ] || more+=(--pid "$(cat "$room/.bridge-process")")
"$python" -B "$here/$program" --rpc "http://127.0.0.1:$port/jsonrpc" --secret "$secret" --dir "$room/files" "${more[@]}" |
    grep -v '^ok '
exit "${PIPESTATUS[0]}"
