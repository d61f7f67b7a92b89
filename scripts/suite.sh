# One suite of the built tests. To be sourced by bash.

# run_tests PROGRAM SUITE LOG runs it as `swift test` would, which locks the build folder. Sets closing, the runner's own last
# line, and ran, the tests that ran. Without either nothing was shown, and that is a failure.
run_tests() {
    local status=0 skipped='^$'
    # Those that scripts/test.sh runs as suites of their own.
    [ "$2" != EndToEndTests ] || skipped='^EndToEndTests\.(FaultTests|SegmentTests|UploadTests)'
    "$1" --testing-library swift-testing --filter "^$2[./]" --skip "$skipped" >"$3" 2>&1 || status=$?
    closing=$(grep -oE 'Test run with [0-9]+ tests? .*(passed|failed) after.*' "$3" | tail -n 1 || true)
    ran=$(grep -oE '[0-9]+' <<<"$closing" | head -n 1 || true)
    [ "${ran:-0}" -gt 0 ] || status=1
    closing=${closing:-the test runner did not finish}
    return "$status"
}
