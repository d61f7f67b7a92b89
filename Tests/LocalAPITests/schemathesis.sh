#!/bin/sh
# Runs schemathesis against the local API: generated requests, right and wrong, and every answer held to the document.
#
#   schemathesis.sh [SOCKET]
#   schemathesis.sh --prepare     only installs the tool into $SCHEMATHESIS_VENV
#
# Without SOCKET it starts a nightshiftd of its own ($NIGHTSHIFTD, or .build/debug/nightshiftd) in a directory that is
# removed afterwards, with a proxy that nobody serves, so that no generated URL is ever fetched.
# SCHEMATHESIS_EXAMPLES (50) bounds the requests per operation and phase, SCHEMATHESIS_VENV keeps the tool between runs.
# Exit status: 0 nothing found, 1 something found, 2 it could not be run.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
work=$(mktemp -d)
service=
bridge=
finish() {
    status=$?
    trap - EXIT INT TERM
    [ -z "$bridge" ] || kill "$bridge" 2>/dev/null || true
    [ -z "$service" ] || { kill "$service" 2>/dev/null && wait "$service" 2>/dev/null; } || true
    rm -rf "$work"
    exit "$status"
}
trap finish EXIT
trap 'exit 2' INT TERM

fail() {
    echo "schemathesis.sh: $*" >&2
    exit 2
}

venv=${SCHEMATHESIS_VENV:-$work/venv}
if [ ! -x "$venv/bin/st" ]; then
    python3 -m venv "$venv" && "$venv/bin/pip" install --quiet 'schemathesis>=4.4,<5' ||
        fail "schemathesis cannot be installed from PyPI"
fi
[ "${1:-}" != --prepare ] || exit 0

if [ $# -gt 0 ]; then
    socket=$1
else
    socket=$work/home/run/nightshift.sock
    # Port 9 discards, or is closed.
    NIGHTSHIFT_HOME=$work/home all_proxy=http://127.0.0.1:9 http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 \
        "${NIGHTSHIFTD:-$root/.build/debug/nightshiftd}" >"$work/nightshiftd.log" 2>&1 &
    service=$!
fi
tries=0
until [ -S "$socket" ]; do
    tries=$((tries + 1))
    [ "$tries" -le 2400 ] || { cat "$work/nightshiftd.log" >&2 2>/dev/null || true; fail "there is no socket at $socket"; }
    sleep 0.1
done

# schemathesis speaks TCP: a relay from a loopback port to the socket, byte by byte. The Host it sends, localhost and the
# port, is one that the service takes.
cat >"$work/bridge.py" <<'PYTHON'
import asyncio
import os
import sys
from urllib.parse import quote


async def copy(reader, writer):
    try:
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def relay(reader, writer):
    try:
        inner_reader, inner_writer = await asyncio.open_unix_connection(sys.argv[1])
    except OSError:
        writer.close()
        return
    await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))


async def connect():
    # To the service this relay is the process that calls, a program without a desktop entry. With the stream of its
    # commands open, what only connected processes may ask is answered too.
    reader, writer = await asyncio.open_unix_connection(sys.argv[1])
    program = quote(os.path.realpath(sys.executable), safe="")
    writer.write(f"GET /v1/process/commands?executable={program} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    await reader.readuntil(b"event: hello")
    return reader, writer


async def main():
    stream = await connect() if sys.argv[3] == "connected" else None
    server = await asyncio.start_server(relay, "127.0.0.1", 0)
    with open(sys.argv[2] + ".new", "w") as port:
        port.write(str(server.sockets[0].getsockname()[1]))
    os.rename(sys.argv[2] + ".new", sys.argv[2])
    while stream and await stream[0].read(65536):
        pass
    await server.serve_forever()


asyncio.run(main())
PYTHON

# A schema cannot say everything: a URL that is none, a file that is not there and a task in another state are refused
# with 409 and 422, which therefore count as honest answers to data that only looks right.
cat >"$work/schemathesis.toml" <<'TOML'
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "404", "409", "422"]

# What schemathesis takes for a refusal by itself, and 413: a body that breaks its schema by being too long is refused unread.
[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "428", "429", "5xx"]

# The relay is a program without a desktop entry, which is never launched: what asks for launches is refused to it with 403.
[[operations]]
include-path-regex = "^/v1/process/(refresh|scheduled-tasks|location|push|notification|badge)"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", "403", "404", "409", "422"]
TOML

# Starts the relay, "alone" or "connected" as the process of an app.
relay() {
    rm -f "$work/port"
    python3 "$work/bridge.py" "$socket" "$work/port" "$1" &
    bridge=$!
    tries=0
    until [ -f "$work/port" ]; do
        tries=$((tries + 1))
        [ "$tries" -le 2400 ] || fail "the relay does not start"
        sleep 0.1
    done
    port=$(cat "$work/port")
}

# The time limits end a request that hangs: how long an answer takes is for the benchmarks. Streams have no end to wait
# for; EventStreamTests and ProcessTests look at them.
check() {
    "$venv/bin/st" --config-file "$work/schemathesis.toml" run "http://localhost:$port/v1/openapi.json" \
        --url "http://localhost:$port" --checks all --mode all --max-examples "${SCHEMATHESIS_EXAMPLES:-50}" \
        --exclude-path /v1/events --exclude-path /v1/shutdown --exclude-path /v1/process/commands \
        --exclude-path '/v1/process/sessions/{identifier}/messages' \
        --request-timeout 600 --max-response-time 600 --continue-on-failure --generation-database none --no-color "$@"
}

cd "$work"
set +e
# Once through everything, by a process that is not connected: it could be told to quit, or be killed, otherwise.
relay alone
check
status=$?
kill "$bridge"
wait "$bridge" 2>/dev/null
# Then what connected processes may do.
relay connected
check --include-path-regex '^/v1/process/'
connected=$?
kill "$bridge"
wait "$bridge" 2>/dev/null
# Then what people may do with an app that is there, but remove it. It ends by itself, should the last request launch it.
launched=0
if [ -n "$service" ]; then
    mkdir -p "$work/home/data/applications"
    printf '%s\n' '[Desktop Entry]' Type=Application Name=Sleeper 'Exec=sleep 5' \
        'X-Nightshift-BackgroundModes=transfer;' >"$work/home/data/applications/org.example.Sleeper.desktop"
    printf '%s\n' '[parameters]' '"path.id" = "org.example.Sleeper"' >>"$work/schemathesis.toml"
    relay alone
    check --include-path-regex '^/v1/apps/' --exclude-method DELETE
    launched=$?
fi
[ "$status" -ne 0 ] || status=$connected
[ "$status" -ne 0 ] || status=$launched
set -e
if [ -n "$service" ] && ! kill -0 "$service" 2>/dev/null; then
    cat "$work/nightshiftd.log" >&2
    echo "schemathesis.sh: the service did not survive" >&2
    exit 1
fi
exit "$status"
