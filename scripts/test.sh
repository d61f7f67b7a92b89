#!/usr/bin/env bash
# Builds everything with its tests once and runs every suite; the last lines say how it went.
#
# As many suites run side by side as there are lanes; each is parallel in itself, and waits a lot. With LOAD=8 in the
# environment, eight busy loops run beside them.
# Usage: scripts/test.sh [SUITE ...]     LANES= how many suites side by side (2)     LOAD= how many busy loops (0)
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=scripts/suite.sh
source scripts/suite.sh

# What a lane does with a suite: its output comes when it is over, in one piece.
run_suite() {
    local suite=$1 room=$2 start=$SECONDS status=0 ran closing passed log=$2/$1.log
    case $suite in
    # The document of the API, asked by somebody who tries what nobody here thought of.
    schemathesis) NIGHTSHIFTD=.build/debug/nightshiftd Tests/LocalAPITests/schemathesis.sh >"$log" 2>&1 || status=$? ;;
    # The library in a package of somebody else's: code of iOS apps, with and without optimisation.
    consumers) scripts/consumers.sh >"$log" 2>&1 || status=$? ;;
    *)
        run_tests .build/debug/nightshiftPackageTests.xctest "$suite" "$log" || status=$?
        passed=$((${ran:-0} - $(grep -cE '^✘ Test .* failed after' "$log" || true)))
        # With the comments that belong to them.
        grep -E '^(✘|↳) ' "$log" | grep -vE '^↳ (Testing Library Version|Target Platform):' >"$room/$suite.issues" || true
        # What passed needs no more than its number.
        sed -i -E '/^(◇|✔) /d' "$log"
        echo "$closing" >>"$log"
        ;;
    esac
    [ "$status" -eq 0 ] || touch "$room/$suite.failed"
    # A script is one test.
    echo "${passed:-$((status == 0))}" >"$room/$suite.passed"
    echo "$((SECONDS - start)) s  $suite" >"$room/$suite.time"
    (
        flock 9
        printf '\n== %s (%d s)\n' "$suite" "$((SECONDS - start))"
        cat "$log"
    ) 9>"$room/lock"
}

if [ "${1:-}" = --lane ]; then
    run_suite "$3" "$2"
    exit 0
fi

# shellcheck source=scripts/load.sh
source scripts/load.sh

room=$(mktemp -d)
trap 'end_load; rm -rf "$room"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

suites=("$@")
if [ "${#suites[@]}" -eq 0 ]; then
    # The longest first, so that the lanes end together.
    longest=(ServiceSimulationTests EndToEndTests consumers EndToEndTests.FaultTests schemathesis AppsTests HTTPTransportTests)
    mapfile -t others < <(find Tests -mindepth 1 -maxdepth 1 -name '*Tests' -printf '%f\n' | sort |
        grep -vxF "$(printf '%s\n' "${longest[@]}")")
    suites=("${longest[@]}" EndToEndTests.SegmentTests EndToEndTests.UploadTests "${others[@]}")
fi

# What others have written in Python, servers for uploads and schemathesis: installed once.
export SCHEMATHESIS_VENV=${SCHEMATHESIS_VENV:-$PWD/.build-peers/schemathesis}
build_peers() {
    Tests/Peers/tus/run.sh --prepare && Tests/Peers/s3/run.sh --prepare && Tests/LocalAPITests/schemathesis.sh --prepare
}
build_peers >"$room/peers" 2>&1 &
peers=$!
swift build --build-tests
wait "$peers" || { cat "$room/peers"; echo "make test: FAILED to prepare Tests/Peers"; exit 1; }

build_seconds=$SECONDS
start_load "${LOAD:-0}"
printf '%s\n' "${suites[@]}" | xargs -P "${LANES:-2}" -I '{}' scripts/test.sh --lane "$room" '{}' || true
end_load

passed=$(cat "$room"/*.passed | awk '{ sum += $1 } END { print sum + 0 }')
failed=()
for suite in "${suites[@]}"; do
    # One that says nothing of itself was cut off.
    if [ -e "$room/$suite.failed" ] || [ ! -e "$room/$suite.time" ]; then failed+=("$suite"); fi
done

printf '\nWhere the time went, beside %d busy loops:\n' "${LOAD:-0}"
{ echo "$build_seconds s  build"; cat "$room"/*.time; } | sort -rn
echo
if [ "${#failed[@]}" -gt 0 ]; then
    # Once more at the end, where whoever reads only the end finds it.
    cat "$room"/*.issues 2>/dev/null || true
    echo "make test: FAILED after $SECONDS s in: ${failed[*]}"
else
    echo "make test: passed after $SECONDS s"
fi
echo "$passed passed, ${#failed[@]} failed"
[ "${#failed[@]}" -eq 0 ]
