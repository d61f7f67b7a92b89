#!/usr/bin/env bash
# Builds the push gateway and tests it: its own suites, and clients that nobody here wrote against the real program.
# Usage: scripts/gateway-tests.sh [--own | MODULE...], modules such as test_reasons; without one, everything.
#   --own     its own suites alone
#   BUILD_OPTIONS=  options of swift build
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$PWD/.build-gateway
clients=$PWD/.build-gateway-clients

scripts/packages.sh build gateway
read -r -a options <<<"${BUILD_OPTIONS:-}"

if [ "$#" -eq 0 ] || [ "$1" = --own ]; then
    swift build --package-path Gateway --scratch-path "$scratch" --build-tests "${options[@]}"
    swift test --package-path Gateway --scratch-path "$scratch" --skip-build "${options[@]}"
    [ "$#" -eq 0 ] || exit 0
    set -- test_reasons test_clients test_delivery test_endpoints test_trouble test_hostile test_unit test_service test_unifiedpush \
        test_load test_cluster
else
    swift build --package-path Gateway --scratch-path "$scratch" "${options[@]}"
fi

if ! cmp --silent Gateway/Tests/Clients/requirements.txt "$clients/requirements.txt"; then
    rm -rf "$clients"
    python3 -m venv "$clients"
    "$clients/bin/pip" install --quiet --requirement Gateway/Tests/Clients/requirements.txt
    cp Gateway/Tests/Clients/requirements.txt "$clients/requirements.txt"
fi

export NIGHTSHIFT_GATEWAY=${NIGHTSHIFT_GATEWAY:-$scratch/debug/nightshift-gateway}
cd Gateway/Tests/Clients
"$clients/bin/python" -B -W ignore -m unittest --verbose "$@"
