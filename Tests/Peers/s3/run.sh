#!/usr/bin/env bash
# moto's S3 on loopback, with one bucket, `uploads`. Usage: run.sh [--port N] [--seconds N]; `run.sh --prepare` only
# installs it. Prints its port as one line. presign.sh makes URLs for it.
set -euo pipefail
export PEER_PARENT=$PPID
here=$(cd "$(dirname "$0")" && pwd)
source "$here/packages.sh"

python_environment s3 "${packages[@]}"
[ "${1:-}" = --prepare ] && exit 0
exec "$python" -B "$here/server.py" "$@"
