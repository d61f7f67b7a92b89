#!/usr/bin/env bash
# Builds a package that adds the library, with optimisation, and runs it: what it prints is what holds.
set -euo pipefail
cd "$(dirname "$0")/.."

start=$SECONDS
swift build --package-path Tests/LibraryClient --scratch-path .build-client --configuration release
echo "built in $((SECONDS - start)) s"
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
# Without the service: nothing here needs it.
timeout 600 env -i HOME="$home" NIGHTSHIFT_HOME="$home" PATH=/nonexistent .build-client/release/library-client
