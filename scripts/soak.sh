#!/usr/bin/env bash
# Runs one suite again and again, beside busy loops where wanted: a test that fails in one run of fifty is found so.
#
# Prints a line for each run, and at the end what failed how often. Keeps the logs of runs that failed in
# $SOAK_LOGS (.build/soak). The tests have to be built: swift build --build-tests.
# Usage: scripts/soak.sh SUITE COUNT [LOAD]     for example: scripts/soak.sh AppsTests 50 8
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/load.sh
source scripts/load.sh
# shellcheck source=scripts/suite.sh
source scripts/suite.sh

if [ $# -lt 2 ] || [ $# -gt 3 ]; then
    sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
suite=$1
count=$2
load=${3:-0}
build=${SOAK_BUILD:-.build/debug}
logs=${SOAK_LOGS:-.build/soak}
mkdir -p "$logs"
log=$(mktemp)
failed_tests=$(mktemp)
trap 'end_load; rm -f "$log" "$failed_tests"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
start_load "$load"

failures=0
longest=0
for ((run = 1; run <= count; run++)); do
    start=$SECONDS
    status=0
    run_tests "$build/nightshiftPackageTests.xctest" "$suite" "$log" || status=$?
    seconds=$((SECONDS - start))
    [ "$seconds" -le "$longest" ] || longest=$seconds
    if [ "$status" -eq 0 ]; then
        printf '%s %d/%d: passed in %d s\n' "$suite" "$run" "$count" "$seconds"
    else
        failures=$((failures + 1))
        kept=$logs/$suite-$(date +%H%M%S)-$run.log
        cp "$log" "$kept"
        printf '%s %d/%d: FAILED in %d s, %s: %s\n' "$suite" "$run" "$count" "$seconds" "$kept" "$closing"
        grep -oE '^✘ Test .* failed after' "$log" | grep -vE '^✘ Test run with' | sed 's/ failed after$//' | tee -a "$failed_tests" | sed 's/^/    /' || true
    fi
done
printf '%s beside %d busy loops: %d of %d runs failed, the longest took %d s\n' "$suite" "$load" "$failures" "$count" "$longest"
sort "$failed_tests" | uniq -c | sort -rn
[ "$failures" -eq 0 ]
