# Sourced: python_environment NAME PACKAGE... makes .build-peers/NAME once, a Python environment with these packages,
# and sets `python` to its interpreter. Several may ask at the same time.
python_environment() {
    local name=$1
    shift
    local root
    root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/.build-peers
    mkdir -p "$root"
    python=$root/$name/bin/python
    (
        flock 9
        if [ "$(cat "$root/$name/packages" 2>/dev/null)" != "$*" ]; then
            rm -rf "${root:?}/$name"
            python3 -m venv "$root/$name"
            "$python" -m pip install --quiet --disable-pip-version-check "$@"
            echo "$*" >"$root/$name/packages"
        fi
    ) 9>"$root/$name.lock" >&2
}
