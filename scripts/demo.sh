#!/usr/bin/env bash
# Shows the main job on real input, without internet: an app downloads a film and is suspended and killed. The service is killed too,
# and the server cuts every connection. When the film is complete, the app is launched in the background and receives it. Then the
# device dozes, and background work is paused until a maintenance window.
# Succeeds only if the file that the app keeps equals the file that was served. Needs a debug build, which `make demo` makes.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=$PWD/.build/debug
size=$((300 << 20))
room=$(mktemp -d "${TMPDIR:-/tmp}/nightshift-demo.XXXXXX")
export NIGHTSHIFT_HOME=$room/home
# The app keeps its files in the user's home directory.
export HOME=$room
unset XDG_DATA_HOME
app=org.example.SimpleBackgroundTransfer
tilde='~'
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
origin=
service=
work=

say() {
    printf '\n%s\n' "$*"
}

fail() {
    printf '\nThe demo failed: %s\n' "$*" >&2
    exit 1
}

# Prints a command and runs it.
tour() {
    printf '  $ nightshift %s\n' "${*//$room/$tilde}"
    timeout 60 "$bin/nightshift" "$@" 2>&1 | sed "s|$room|~|g; s/^/  | /"
}

# Prints the number under a key of a command's JSON.
number() {
    local key=$1
    shift
    timeout 20 "$bin/nightshift" "$@" --json 2>/dev/null |
        sed -n "s/.*\"$key\"[[:space:]]*:[[:space:]]*\([0-9]*\).*/\1/p" | head -n 1
}

# Prints the word under a key of a command's JSON.
word() {
    local key=$1
    shift
    timeout 20 "$bin/nightshift" "$@" --json 2>/dev/null |
        sed -n "s/.*\"$key\"[[:space:]]*:[[:space:]]*\"\([^\"]*\)\".*/\1/p" | head -n 1
}

# Waits until the app is in a state.
until_app() {
    for _ in $(seq "$2"); do
        [ "$(word state app show $app)" = "$1" ] && return 0
        sleep 0.1
    done
    fail "the app did not become $1"
}

# Prints the processor time that a process has used, in ticks.
ticks() {
    sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'
}

service_process() {
    number processID status || true
}

mebibytes() {
    awk -v bytes="$1" 'BEGIN { printf "%.1f MiB", bytes / 1048576 }'
}

# Ends the processes that were started here, by their pids, and waits for their exit.
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
    timeout 20 "$bin/nightshift" app quit $app >/dev/null 2>&1 || true
    running=$(service_process)
    end "$work"
    end "${running:-$service}"
    end "$origin"
    rm -rf "$room"
}
trap tidy EXIT
trap 'exit 130' INT TERM

say "1. A web server that misbehaves: it serves a film of $(mebibytes $size) and cuts every connection after 16 MiB."
"$bin/misbehaving-origin" --port-file "$room/port" --size 300M --path /film.mkv --throttle 6M --cut-every 16M \
    --seconds 600 >"$room/origin.log" 2>&1 &
origin=$!
for _ in $(seq 100); do
    [ -s "$room/port" ] && break
    kill -0 "$origin" 2>/dev/null || fail "the server did not start: $(cat "$room/origin.log")"
    sleep 0.1
done
[ -s "$room/port" ] || fail "the server does not listen"
url=http://127.0.0.1:$(cat "$room/port")/film.mkv
echo "  The server listens at $url"

say "2. An app: Examples/SimpleBackgroundTransfer, an iOS program with 'import Nightshift'. It is installed by its desktop entry."
sed "s|^Exec=|Exec=$bin/|" "Examples/SimpleBackgroundTransfer/$app.desktop" >"$room/$app.desktop"
tour app install "$room/$app.desktop"
tour app launch $app -- "$url"
service=$(service_process)
[ -n "$service" ] || fail "the service does not say which process it is"
for _ in $(seq 300); do
    received=$(number countOfBytesReceived show 1) || true
    [ "${received:-0}" -ge $((32 << 20)) ] && break
    sleep 0.1
done
[ "${received:-0}" -ge $((32 << 20)) ] || fail "only ${received:-0} bytes arrived"
tour app log $app

say "3. You use another app. This app is suspended: it stays in memory and gets no processor time. The download continues."
tour app background $app
until_app suspended 100
process=$(number processID app show $app)
before=$(ticks "$process")
tour list
sleep 1
[ "$(ticks "$process")" = "$before" ] || fail "the app used processor time while it was suspended"
echo "  Processor ticks of process $process in the last second: 0"

say "4. The app is killed, and a moment later the service too. Neither can save anything first."
received=$(number countOfBytesReceived show 1) || true
[ "${received:-$size}" -lt "$size" ] || fail "the download was over before anything could be killed"
kill -9 "$process" "$service"
for _ in $(seq 50); do
    kill -0 "$service" 2>/dev/null || break
    sleep 0.1
done
echo "  \$ kill -9 $process $service          # $(mebibytes "$received") had arrived"

say "5. The next command starts the service again, and the download continues from its last byte."
tour why 1
service=$(service_process)
[ -n "$service" ] || fail "the service did not come back"

say "6. When the film is complete, the app is launched in the background. It receives the film, updates its snapshot and is suspended."
printf '  $ nightshift wait 1\n'
timeout 240 "$bin/nightshift" wait 1 2>&1 | sed "s|$room|~|g; s/^/  | /" || fail "the download did not end well"
until_app suspended 200
tour app why $app
tour app log $app
tour app snapshot $app -o "$room/snapshot.png"
[ -s "$room/snapshot.png" ] || fail "there is no snapshot"

say "7. The file that the app received is compared with the served file."
"$bin/misbehaving-origin" verify "$room/.local/share/SimpleBackgroundTransfer/film.mkv" --size 300M |
    sed "s|$room|~|g; s/^/  /" || fail "the file is not what was served"

end "$origin"
wait "$origin" 2>/dev/null || true
origin=
totals=$(tail -n 1 "$room/origin.log")
sent=$(sed -n 's/.* \([0-9][0-9]*\) body bytes sent.*/\1/p' <<<"$totals")
[ -n "$sent" ] || fail "the server did not say what it had sent: $totals"
echo "  The server: $totals."
echo "  That is $(mebibytes "$sent") for a file of $(mebibytes $size):" \
    "$(mebibytes $((sent - size))) were sent twice or not kept."

say "8. On battery and unused, the device dozes: background work is paused, and so is its time limit, until a maintenance window."
printf '  $ nightshift task run --name counting -- sh -c "while :; do count; done" &\n'
"$bin/nightshift" task run --name counting -- \
    sh -c 'i=0; while :; do i=$((i + 1)); echo $i >"$0.new"; mv "$0.new" "$0"; done' "$room/count" >"$room/work.log" 2>&1 &
work=$!
for _ in $(seq 100); do
    [ -s "$room/count" ] && break
    sleep 0.1
done
[ -s "$room/count" ] || fail "the work did not begin: $(cat "$room/work.log")"
tour device set power=battery battery=80 idle=yes
tour device doze
for _ in $(seq 50); do
    before=$(cat "$room/count")
    sleep 0.3
    [ "$(cat "$room/count")" = "$before" ] && break
done
[ "$(cat "$room/count")" = "$before" ] || fail "the work went on in doze"
sleep 1
[ "$(cat "$room/count")" = "$before" ] || fail "the work went on in doze"
echo "  Counted in the last second: 0"
tour device window
for _ in $(seq 50); do
    [ "$(cat "$room/count")" -gt "$before" ] 2>/dev/null && break
    sleep 0.1
done
[ "$(cat "$room/count")" -gt "$before" ] || fail "the window did not let the work go on"
echo "  Counting again, at $(cat "$room/count")."
end "$work"
wait "$work" 2>/dev/null || true
work=
printf '  $ nightshift journal --since 2m | grep counting\n'
timeout 60 "$bin/nightshift" journal --since 2m | grep -E 'counting|dozing|maintenance window' | sed 's/^/  | /' | cut -c1-150

cuts=$(sed -n 's/.* \([0-9]*\) cut.*/\1/p' <<<"$totals")
say "One complete film, although the app was suspended and killed, the service was killed, and $cuts connections were cut." \
    "Apps sleep. Nightshift works."
