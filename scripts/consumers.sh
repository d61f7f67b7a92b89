#!/usr/bin/env bash
# Builds a package that adds the library, as iOS apps would, in debug and in release, and runs it against the real service.
#
# Usage: scripts/consumers.sh [debug|release ...]. What is printed is what holds; every situation of the sources has to.
set -euo pipefail
cd "$(dirname "$0")/.."

configurations=("$@")
[ "${#configurations[@]}" -gt 0 ] || configurations=(debug release)
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
package=Tests/Consumers
[ -x .build/debug/nightshiftd ] || swift build --traits Service --product nightshiftd

room=$(mktemp -d "${TMPDIR:-/tmp}/consumers.XXXXXX")
origin=
service=

end() {
    if [ -n "$1" ] && kill "$1" 2>/dev/null; then wait "$1" 2>/dev/null || true; fi
}
trap 'end "$service"; end "$origin"; rm -rf "$room"' EXIT

# Waits until a command succeeds, 30 s at most.
await() {
    for _ in $(seq 300); do
        "$@" 2>/dev/null && return 0
        sleep 0.1
    done
    echo "timed out: $*" >&2
    return 1
}

# Ended by its number, or with this script, which holds the other end of its input.
mkfifo "$room/input"
timeout 1800 python3 "$package/origin.py" "$room/port" <"$room/input" &
origin=$!
exec 9>"$room/input"
await test -s "$room/port"

read -r -a options <<<"${BUILD_OPTIONS:-}"
failures=0
for configuration in "${configurations[@]}"; do
    start=$SECONDS
    swift build --package-path "$package" --scratch-path .build-consumers --configuration "$configuration" "${options[@]}" 9>&-
    echo "built ($configuration) in $((SECONDS - start)) s"
    home=$room/$configuration
    mkdir -m 700 "$home"
    NIGHTSHIFT_HOME=$home timeout 1200 .build/debug/nightshiftd >"$home.log" 2>&1 9>&- &
    service=$!
    await test -S "$home/run/nightshift.sock"
    for mode in v5 v6 ios5 ios6; do
        log=$room/$configuration-$mode
        status=0
        timeout 400 env -i HOME="$home" NIGHTSHIFT_HOME="$home" PATH=/nonexistent ORIGIN_PORT="$(cat "$room/port")" \
            SERVICE="$PWD/.build/debug/nightshiftd" \
            ".build-consumers/$configuration/consumer-$mode" >"$log" 2>"$log.errors" || status=$?
        # Links are followed: what is shared counts in each.
        expected=$(grep -RhoE 'situation\("[^"]*"' "$package/Sources/consumer-$mode" |
            sed 's/^situation("//; s/"$//' | sort)
        held=$(sed -n 's/^ok: //p' "$log" | sort)
        grep '^BROKEN' "$log" || true
        if [ "$status" -eq 0 ] && [ "$held" = "$expected" ]; then
            echo "consumer-$mode, $configuration: all $(wc -l <<<"$held") situations hold"
        else
            failures=$((failures + 1))
            echo "consumer-$mode, $configuration: FAILED with status $status"
            diff <(echo "$expected") <(echo "$held") | sed -n 's/^< /did not hold: /p; s/^> /not in the sources: /p' || true
            tail -n 20 "$log.errors"
        fi
    done
    end "$service"
    service=
done
[ "$failures" -eq 0 ]
