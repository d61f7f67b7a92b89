# One suite of the built tests. To be sourced by bash.

# Suites of EndToEndTests that run apart from it, as suites of their own.
apart=(EndToEndTests.Aria2Tests EndToEndTests.FaultTests EndToEndTests.SegmentTests EndToEndTests.UploadTests EndToEndTests.YieldTests)

# run_tests PROGRAM SUITE LOG [SKIPPED...] runs it as `swift test` would, which locks the build folder; the skipped ones are parts
# of it. Sets closing, the runner's own last line, and ran, the tests that ran. Without either nothing was shown, and that is a
# failure.
run_tests() {
    local program=$1 suite=$2 log=$3 status=0 part skipped='^$'
    shift 3
    for part in "${apart[@]}" "$@"; do
        [[ $part != "$suite"[./]* ]] || skipped+="|^${part//./\\.}[./]"
    done
    "$program" --testing-library swift-testing --filter "^${suite//./\\.}[./]" --skip "$skipped" >"$log" 2>&1 || status=$?
    closing=$(grep -oE 'Test run with [0-9]+ tests? .*(passed|failed) after.*' "$log" | tail -n 1 || true)
    ran=$(grep -oE '[0-9]+' <<<"$closing" | head -n 1 || true)
    [ "${ran:-0}" -gt 0 ] || status=1
    closing=${closing:-the test runner did not finish}
    return "$status"
}
