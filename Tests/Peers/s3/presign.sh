#!/usr/bin/env bash
# Prints a presigned URL as S3 gives out. Usage: presign.sh PORT put|get|head KEY [SECONDS]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/packages.sh"

python_environment s3 "${packages[@]}"
exec "$python" -B "$here/presign.py" "$@"
