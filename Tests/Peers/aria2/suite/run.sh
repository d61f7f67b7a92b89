#!/usr/bin/env bash
# Runs the tests of aria2p's own suite that start a server, against the bridge. The suite comes from PyPI, unchanged.
# Usage: run.sh [PYTEST ARGUMENTS ...]; `run.sh --prepare` only installs what the suite needs.
# With PEER=aria2, runs all of them against aria2 itself. NIGHTSHIFT_PROGRAMS is the folder of the programs (.build/debug).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=Tests/Peers/environment.sh
source "$here/../../environment.sh"

mapfile -t packages < <(grep -v '^#' "$here/requirements.txt")
python_environment aria2-suite "${packages[@]}"
sources=$(dirname "$python")/../sources
(
    flock 9
    if [ ! -e "$sources" ]; then
        room=$(mktemp -d)
        "$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary aria2p --dest "$room" \
            "$(grep '^aria2p' "$here/requirements.txt")"
        mkdir "$sources.new"
        tar -xzf "$room"/aria2p-*.tar.gz -C "$sources.new" --strip-components 1
        rm -r "$room"
        mv "$sources.new" "$sources"
    fi
) 9>"$(dirname "$python")/../sources.lock"
[ "${1:-}" = --prepare ] && exit 0

# The suite writes into its folder.
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
trap 'exit 143' INT TERM
cp -r "$sources" "$room/suite"
cd "$room/suite"
# The suite's own settings want coverage and a random order.
echo '[pytest]' >"$room/pytest.ini"
export PATH="$here/bin:$PATH" PYTHONPATH="$here" SUITE_LEFT_OUT="$here/left_out.txt"
[ "${PEER:-}" != aria2 ] || export SUITE_LEFT_OUT=
# Some tests race with the server. As its authors do, a failed test is repeated up to five times. The suite waits for
# ever for a server that does not start, so each test has a limit.
"$python" -B -m pytest --config-file "$room/pytest.ini" --rootdir . -p plugin -p no:cacheprovider --quiet --tb=short \
    --reruns 5 --timeout "$((60 * ${PATIENCE:-1}))" --numprocesses 2 "$@" \
    tests/test_api.py tests/test_cli.py tests/test_client.py tests/test_downloads.py
