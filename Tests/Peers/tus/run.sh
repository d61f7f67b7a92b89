#!/usr/bin/env bash
# A tus 1.0 server on loopback. Usage: run.sh --directory D [--port N] [--seconds N]; `run.sh --prepare` only installs.
# Prints its port as one line. Uploads go to http://127.0.0.1:PORT/files; see server.py for what becomes of them.
set -euo pipefail
export PEER_PARENT=$PPID
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../environment.sh"

python_environment tus tuspyserver==4.4.3 uvicorn==0.54.0
[ "${1:-}" = --prepare ] && exit 0
exec "$python" -B "$here/server.py" "$@"
