#!/usr/bin/env bash
# The main job on real input, without internet: a download whose connections are cut and whose service is killed.
# Succeeds only if the file that arrives is the file that was served. Expects a debug build; `make demo` makes it.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=$PWD/.build/debug
size=$((300 << 20))
room=$(mktemp -d "${TMPDIR:-/tmp}/nightshift-demo.XXXXXX")
export NIGHTSHIFT_HOME=$room/home
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
origin=
service=

say() {
    printf '\n%s\n' "$*"
}

fail() {
    printf '\nThe demo failed: %s\n' "$*" >&2
    exit 1
}

# Shows a command of the tour, and runs it.
tour() {
    printf '  $ nightshift %s\n' "${*//$room/~}"
    timeout 60 "$bin/nightshift" "$@" 2>&1 | sed "s|$room|~|g; s/^/  | /"
}

# The number that a command's JSON has under a key.
number() {
    local key=$1
    shift
    timeout 20 "$bin/nightshift" "$@" --json 2>/dev/null |
        sed -n "s/.*\"$key\"[[:space:]]*:[[:space:]]*\([0-9]*\).*/\1/p" | head -n 1
}

service_process() {
    number processID status || true
}

mebibytes() {
    awk -v bytes="$1" 'BEGIN { printf "%.1f MiB", bytes / 1048576 }'
}

# Ends what was started here, by its number, and waits until it is gone.
end() {
    local process=$1
    [ -n "$process" ] || return 0
    kill "$process" 2>/dev/null || return 0
    for _ in $(seq 50); do
        kill -0 "$process" 2>/dev/null || return 0
        sleep 0.1
    done
    kill -9 "$process" 2>/dev/null || true
}

tidy() {
    local running
    running=$(service_process)
    end "${running:-$service}"
    end "$origin"
    rm -rf "$room"
}
trap tidy EXIT
trap 'exit 130' INT TERM

mkdir -p "$room/downloads"

say "1. A web server with bad manners: it serves a film of $(mebibytes $size), and cuts every connection after 64 MiB."
"$bin/misbehaving-origin" --port-file "$room/port" --size 300M --path /film.mkv --throttle 40M --cut-every 64M \
    --seconds 600 >"$room/origin.log" 2>&1 &
origin=$!
for _ in $(seq 100); do
    [ -s "$room/port" ] && break
    kill -0 "$origin" 2>/dev/null || fail "the server did not start: $(cat "$room/origin.log")"
    sleep 0.1
done
[ -s "$room/port" ] || fail "the server does not listen"
url=http://127.0.0.1:$(cat "$room/port")/film.mkv
echo "  It listens: $url"

say "2. Hand the download to the service and leave. The id is printed once the task is on disk."
printf '  $ nightshift get --detach -d ~/downloads %s\n' "$url"
id=$(timeout 60 "$bin/nightshift" get --detach -d "$room/downloads" "$url") || fail "the task was not accepted"
echo "  | $id"
service=$(service_process)
[ -n "$service" ] || fail "the service does not say which process it is"

say "3. It runs in a process of its own (number $service). A moment later:"
received=0
for _ in $(seq 300); do
    received=$(number countOfBytesReceived show "$id") || true
    [ "${received:-0}" -ge $((100 << 20)) ] && break
    sleep 0.1
done
[ "${received:-0}" -ge $((100 << 20)) ] || fail "only ${received:-0} bytes arrived"
tour why "$id"

say "4. Disaster: the service is killed, with no chance to tidy up."
received=$(number countOfBytesReceived show "$id") || true
[ "${received:-$size}" -lt "$size" ] || fail "the download was over before the service could be killed"
kill -9 "$service"
for _ in $(seq 50); do
    kill -0 "$service" 2>/dev/null || break
    sleep 0.1
done
echo "  \$ kill -9 $service          # $(mebibytes "$received") had arrived"
[ ! -e "$room/downloads/film.mkv" ] || fail "a part of the file has the final name"
echo "  \$ ls ~/downloads            # nothing: a file has its name only when it is whole"

say "5. The next command starts the service again, and it goes on where it was."
tour why "$id"
service=$(service_process)
[ -n "$service" ] || fail "the service did not come back"

say "6. Wait for the end. Each cut connection is one more entry in its journal."
printf '  $ nightshift wait %s\n' "$id"
timeout 240 "$bin/nightshift" wait "$id" 2>&1 | sed "s|$room|~|g; s/^/  | /" || fail "the download did not end well"
tour why "$id"

say "7. Is it the right file, byte for byte?"
"$bin/misbehaving-origin" verify "$room/downloads/film.mkv" --size 300M | sed "s|$room|~|g; s/^/  /" ||
    fail "the file is not what was served"

end "$origin"
wait "$origin" 2>/dev/null || true
origin=
totals=$(tail -n 1 "$room/origin.log")
sent=$(sed -n 's/.* \([0-9][0-9]*\) body bytes sent.*/\1/p' <<<"$totals")
[ -n "$sent" ] || fail "the server did not say what it had sent: $totals"
echo "  The server: $totals."
echo "  That is $(mebibytes "$sent") for a file of $(mebibytes $size):" \
    "$(mebibytes $((sent - size))) were sent twice or in vain."

cuts=$(sed -n 's/.* \([0-9]*\) cut.*/\1/p' <<<"$totals")
say "One whole file, through a killed service and $cuts cut connections. Apps sleep. Nightshift works."
