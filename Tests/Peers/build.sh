#!/usr/bin/env bash
# Builds the servers of this package once into .build-peers and prints where the programs are.
set -euo pipefail
cd "$(dirname "$0")/../.."

swift build --package-path Tests/Peers --scratch-path .build-peers/swift --product resumable-upload-server >&2
echo "$PWD/.build-peers/swift/debug"
