#!/usr/bin/env bash
# Builds everything with its tests once and runs suite after suite; the last lines say how it went.
#
# One suite at a time, each parallel in itself: two cores cannot run them all at once. With LOAD=8 in the environment,
# eight busy loops run beside them.
# Usage: scripts/test.sh [SUITE ...]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/load.sh
source scripts/load.sh

log=$(mktemp)
issues=$(mktemp)
peers_log=$(mktemp)
trap 'end_load; rm -f "$log" "$issues" "$peers_log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

suites=("$@")
if [ "${#suites[@]}" -eq 0 ]; then
    mapfile -t suites < <(find Tests -mindepth 1 -maxdepth 1 -name '*Tests' -printf '%f\n' | sort)
    # Apart, or what watches clocks beside them waits in vain: strace stops the service at every system call, and large
    # files take both processors.
    suites+=(EndToEndTests.FaultTests EndToEndTests.SegmentTests EndToEndTests.UploadTests)
    # The document of the API, asked by somebody who tries what nobody here thought of.
    suites+=(schemathesis)
    # The library in a package of somebody else's: code of iOS apps, with and without optimisation.
    suites+=(consumers)
fi

# What others have written, servers for uploads and schemathesis: built and installed once.
export SCHEMATHESIS_VENV=${SCHEMATHESIS_VENV:-$PWD/.build-peers/schemathesis}
build_peers() {
    Tests/Peers/build.sh && Tests/Peers/tus/run.sh --prepare && Tests/Peers/s3/run.sh --prepare &&
        Tests/LocalAPITests/schemathesis.sh --prepare
}
build_peers >"$peers_log" 2>&1 &
peers=$!
swift build --build-tests
wait "$peers" || { cat "$peers_log"; echo "make test: FAILED to prepare Tests/Peers"; exit 1; }

build_seconds=$SECONDS
start_load "${LOAD:-0}"

passed=0
failed=()
times=()
for suite in "${suites[@]}"; do
    printf '\n== %s (after %d s)\n' "$suite" "$SECONDS"
    start=$SECONDS
    status=0
    if [ "$suite" = schemathesis ]; then
        NIGHTSHIFTD=.build/debug/nightshiftd Tests/LocalAPITests/schemathesis.sh || status=$?
        [ "$status" -ne 0 ] || passed=$((passed + 1))
    elif [ "$suite" = consumers ]; then
        scripts/consumers.sh || status=$?
        [ "$status" -ne 0 ] || passed=$((passed + 1))
    else
        skipped='^$'
        [ "$suite" != EndToEndTests ] || skipped='^EndToEndTests\.(FaultTests|SegmentTests|UploadTests)'
        swift test --skip-build --parallel --filter "^$suite[./]" --skip "$skipped" >"$log" 2>&1 || status=$?
        # What passed needs no more than its number.
        grep -vE '^(◇|✔) ' "$log" || true
        # Without the runner's own closing line, or without a test, nothing was shown.
        closing=$(grep -oE 'Test run with [0-9]+ tests? .*(passed|failed) after.*' "$log" | tail -n 1 || true)
        count=$(grep -oE '[0-9]+' <<<"$closing" | head -n 1 || true)
        grep -E '^✘ ' "$log" >>"$issues" || true
        broken=$(grep -cE '^✘ Test .* failed after' "$log" || true)
        echo "${closing:-the test runner did not finish}"
        [ "${count:-0}" -gt 0 ] || status=1
        passed=$((passed + ${count:-0} - broken))
    fi
    [ "$status" -eq 0 ] || failed+=("$suite")
    times+=("$((SECONDS - start)) s  $suite")
done
end_load

printf '\nWhere the time went, beside %d busy loops:\n' "${LOAD:-0}"
printf '%s\n' "$build_seconds s  build" "${times[@]}" | sort -rn
echo
if [ "${#failed[@]}" -gt 0 ]; then
    # Once more at the end, where whoever reads only the end finds it.
    cat "$issues"
    echo "make test: FAILED after $SECONDS s in: ${failed[*]}"
else
    echo "make test: passed after $SECONDS s"
fi
echo "$passed passed, ${#failed[@]} failed"
[ "${#failed[@]}" -eq 0 ]
