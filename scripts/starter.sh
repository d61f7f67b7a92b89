#!/usr/bin/env bash
# Builds a copy of nothing but Examples/Starter, with this repository as the package at its address, and kills it in mid-download.
#
# Succeeds only if no other package was resolved and the file is whole. Expects a debug build of the service, or makes one.
set -euo pipefail
cd "$(dirname "$0")/.."

unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
[ -x .build/debug/nightshiftd ] || swift build --traits Service --product nightshiftd
service_program=$PWD/.build/debug/nightshiftd
origin_program=$PWD/Tests/Consumers/origin.py
room=$(mktemp -d "${TMPDIR:-/tmp}/starter.XXXXXX")
origin=
service=

end() {
    if [ -n "$1" ] && kill "$1" 2>/dev/null; then wait "$1" 2>/dev/null || true; fi
}
trap 'end "$service"; end "$origin"; rm -rf "$room"' EXIT

fail() {
    echo "starter: FAILED: $*" >&2
    exit 1
}

# Waits until a command succeeds, 60 s at most.
await() {
    for _ in $(seq 600); do
        "$@" 2>/dev/null && return 0
        sleep 0.1
    done
    fail "timed out: $*"
}

# The repository as a package has it, with what is not committed yet, and a tag.
tree=$(GIT_INDEX_FILE=$room/index sh -c 'git read-tree HEAD && git add --all && git write-tree')
git init --quiet --bare "$room/nightshift.git"
# A new machine has no identity of git.
commit=$(git -c user.name=nightshift -c user.email=nightshift@example.org commit-tree "$tree" -m "The package")
git push --quiet "$room/nightshift.git" "$commit:refs/tags/0.2.0"
cp -r Examples/Starter "$room/starter"
export GIT_CONFIG_COUNT=1
export GIT_CONFIG_KEY_0=url.$room/nightshift.git.insteadOf GIT_CONFIG_VALUE_0=https://example.org/nightshift.git

cd "$room/starter"
start=$SECONDS
# With nothing that this machine remembers of the address.
swift build --cache-path "$room/cache" --security-path "$room/security"
echo "starter: resolved and built in $((SECONDS - start)) s"
[ "$(ls .build/checkouts)" = nightshift ] || fail "more than the library was resolved: $(ls .build/checkouts)"

mkfifo "$room/input"
timeout 600 python3 "$origin_program" "$room/port" <"$room/input" &
origin=$!
exec 9>"$room/input"
await test -s "$room/port"
url=http://127.0.0.1:$(cat "$room/port")
mkdir -m 700 "$room/home"
export NIGHTSHIFT_HOME=$room/home
timeout 600 "$service_program" >"$room/log" 2>&1 9>&- &
service=$!
await test -S "$room/home/run/nightshift.sock"

# Each line is to be there at once.
stdbuf -oL .build/debug/starter "$url/held/film" >"$room/first" 9>&- &
app=$!
await grep -q "^Downloading" "$room/first"
kill -9 "$app"
wait "$app" 2>/dev/null || true
python3 -c "import urllib.request; urllib.request.urlopen('$url/release/film')"
timeout 120 .build/debug/starter 9>&- || fail "the second start ended with $?"
[ "$(sort -u film)" = "This is film." ] && [ "$(wc -l <film)" -eq 100000 ] || fail "the file is not whole"
echo "starter: the download survived kill -9 of its program"
