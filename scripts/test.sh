#!/usr/bin/env bash
# Builds the tests once and runs their suites; the last lines say how it went.
#
# As many suites run side by side as there are lanes; each is parallel in itself, and waits a lot. With LOAD=8 in the
# environment, eight busy loops run beside them.
# Usage: scripts/test.sh [--quick | --rest] [SUITE ...]
#   --quick   what shows the most in a third of the time; other suites are not built either
#   --rest    what --quick leaves out
#   LANES=    how many suites side by side (2)
#   LOAD=     how many busy loops (0)
#   BUILD_OPTIONS=  options of swift build
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=scripts/suite.sh
source scripts/suite.sh

# Values, machines and walks, the API, the command line; and of what crosses targets one file for each group of rows, with real
# programs that are really killed.
quick=(
    EndToEndTests.RandomKillTests EndToEndTests.OnceTests EndToEndTests.FetchScriptTests EndToEndTests.CrossingOnceTests
    ServiceSimulationTests.Simulations/RandomScenarioTests ServiceSimulationTests.Simulations/CrashTests
    TransfersTests LocalAPITests CLITests PushTests SchedulerTests StoreTests RefreshTests LocationTests NotificationsTests
    OperationsTests SessionsTests RuntimeTests ClockTests ExecutorsTests PushProtocolTests ArchitectureTests
)

# What a lane does with a suite: its output comes when it is over, in one piece. After the suite come parts of it that are left out.
run_suite() {
    local room=$1 suite=$2 start=$SECONDS status=0 ran closing passed name log
    shift 2
    name=${suite//\//.}
    log=$room/$name.log
    # Parts of the simulations stand in for all of them, with fewer seeds.
    [[ $suite != ServiceSimulationTests.* ]] || export NIGHTSHIFT_ROUNDS=${NIGHTSHIFT_ROUNDS:-1}
    case $suite in
    # The document of the API, asked by somebody who tries what nobody here thought of.
    schemathesis) NIGHTSHIFTD=.build/debug/nightshiftd Tests/LocalAPITests/schemathesis.sh >"$log" 2>&1 || status=$? ;;
    # The library in a package of somebody else's: code of iOS apps, with and without optimisation.
    consumers) scripts/consumers.sh >"$log" 2>&1 || status=$? ;;
    # The library as a package at an address, in a copy of nothing but the starter's folder.
    starter) scripts/starter.sh >"$log" 2>&1 || status=$? ;;
    # The push gateway's own suites; clients that others wrote try it in make gateway-test.
    gateway) scripts/gateway-tests.sh --own >"$log" 2>&1 || status=$? ;;
    *)
        run_tests .build/debug/nightshiftPackageTests.xctest "$suite" "$log" "$@" || status=$?
        passed=$((${ran:-0} - $(grep -cE '^✘ Test .* failed after' "$log" || true)))
        # With the comments that belong to them.
        grep -E '^(✘|↳) ' "$log" | grep -vE '^↳ (Testing Library Version|Target Platform):' >"$room/$name.issues" || true
        # What passed needs no more than its number.
        sed -i -E '/^(◇|✔) /d' "$log"
        echo "$closing" >>"$log"
        ;;
    esac
    [ "$status" -eq 0 ] || touch "$room/$name.failed"
    # A script is one test.
    echo "${passed:-$((status == 0))}" >"$room/$name.passed"
    echo "$((SECONDS - start)) s  $suite" >"$room/$name.time"
    (
        flock 9
        printf '\n== %s (%d s)\n' "$suite" "$((SECONDS - start))"
        cat "$log"
    ) 9>"$room/lock"
}

if [ "${1:-}" = --lane ]; then
    read -r -a left_out <<<"${LEFT_OUT:-}"
    run_suite "$2" "$3" "${left_out[@]}"
    exit 0
fi

# shellcheck source=scripts/load.sh
source scripts/load.sh

room=$(mktemp -d)
trap 'end_load; rm -rf "$room"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

mode=
case ${1:-} in --quick | --rest) mode=$1 && shift ;; esac
suites=("$@")
left_out=()
if [ "${#suites[@]}" -eq 0 ]; then
    # The longest first, so that the lanes end together.
    longest=(gateway ServiceSimulationTests EndToEndTests consumers starter PageTests EndToEndTests.Aria2Tests EndToEndTests.FaultTests schemathesis AppsTests HTTPTransportTests)
    mapfile -t others < <(find Tests -mindepth 1 -maxdepth 1 -name '*Tests' -printf '%f\n' | sort |
        grep -vxF "$(printf '%s\n' "${longest[@]}")")
    suites=("${longest[@]}" EndToEndTests.SegmentTests EndToEndTests.UploadTests EndToEndTests.YieldTests "${others[@]}")
    case $mode in
    --quick)
        suites=("${quick[@]}")
        ;;
    --rest)
        mapfile -t suites < <(printf '%s\n' "${suites[@]}" | grep -vxF "$(printf '%s\n' "${quick[@]}")")
        # The simulations run whole: with all seeds.
        mapfile -t left_out < <(printf '%s\n' "${quick[@]}" | grep '^EndToEndTests')
        ;;
    esac
fi

# The targets of the suites; a script runs the programs alone.
targets() { printf '%s\n' "${suites[@]}" | sed 's/\..*//' | grep 'Tests$' | sort -u | tr '\n' ' '; }

# What others have written in Python, servers for uploads and schemathesis: installed once.
export SCHEMATHESIS_VENV=${SCHEMATHESIS_VENV:-$PWD/.build-peers/schemathesis}
build_peers() {
    Tests/Peers/tus/run.sh --prepare && Tests/Peers/s3/run.sh --prepare && Tests/Peers/aria2/run.sh --prepare && Tests/LocalAPITests/schemathesis.sh --prepare
}
read -r -a options <<<"${BUILD_OPTIONS:-}"
peers=
if [ "$mode" != --quick ]; then
    build_peers >"$room/peers" 2>&1 &
    peers=$!
    swift build --traits Service --build-tests "${options[@]}"
else
    NIGHTSHIFT_TESTS=$(targets) swift build --traits Service --product nightshiftPackageTests "${options[@]}"
fi
[ -z "$peers" ] || wait "$peers" || { cat "$room/peers"; echo "tests: FAILED to prepare Tests/Peers"; exit 1; }

# The tests have this home, and nothing of yours; what they leave there is looked for at the end.
export NIGHTSHIFT_TEST_HOME=$room/home
mkdir "$room/home"

build_seconds=$SECONDS
start_load "${LOAD:-0}"
printf '%s\n' "${suites[@]}" |
    LEFT_OUT="${left_out[*]}" xargs -P "${LANES:-2}" -I '{}' scripts/test.sh --lane "$room" '{}' || true
end_load

# left_running prints a line for each process that the tests have left: programs of this build, and what has the tests' home.
# The line has its age in seconds and the home of its service, which tell the test that started it.
left_running() {
    local folder id
    for folder in /proc/[0-9]*; do
        id=${folder#/proc/}
        case $(readlink "$folder/exe" 2>/dev/null) in
        "$PWD"/.build/*) ;;
        *) grep -qzxF "NIGHTSHIFT_TEST_HOME=$room/home" "$folder/environ" 2>/dev/null || continue ;;
        esac
        # Not this script and what it runs.
        [ "$id" != $$ ] && [ "$(ps -o ppid= -p "$id" 2>/dev/null | tr -d ' ')" != $$ ] || continue
        printf '%s %s s %s%s\n' "$id" "$(ps -o etimes= -p "$id" | tr -d ' ')" "$(tr '\0' ' ' <"$folder/cmdline" 2>/dev/null)" \
            "$(tr '\0' '\n' <"$folder/environ" 2>/dev/null | grep '^NIGHTSHIFT_HOME=' || true)"
    done
}
# What ends with its test may take a moment.
for _ in $(seq 100); do
    left=$(left_running)
    [ -n "$left" ] || break
    sleep 0.1
done

passed=$(cat "$room"/*.passed | awk '{ sum += $1 } END { print sum + 0 }')
failed=()
for suite in "${suites[@]}"; do
    name=${suite//\//.}
    # One that says nothing of itself was cut off.
    if [ -e "$room/$name.failed" ] || [ ! -e "$room/$name.time" ]; then failed+=("$suite"); fi
done

printf '\nWhere the time went, beside %d busy loops:\n' "${LOAD:-0}"
{ echo "$build_seconds s  build"; cat "$room"/*.time; } | sort -rn
echo
if [ -n "$left" ]; then
    printf 'Tests left these processes running. They are ended now:\n%s\n' "$left"
    cut -d ' ' -f 1 <<<"$left" | xargs kill -KILL 2>/dev/null || true
    failed+=(leftovers)
fi
if [ "${#failed[@]}" -gt 0 ]; then
    # Printed again at the end, for readers who look only there.
    cat "$room"/*.issues 2>/dev/null || true
    echo "tests: FAILED after $SECONDS s in: ${failed[*]}"
else
    echo "tests: passed after $SECONDS s"
fi
echo "$passed passed, ${#failed[@]} failed"
[ "${#failed[@]}" -eq 0 ]
