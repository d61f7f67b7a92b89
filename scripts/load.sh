# Busy loops beside tests, for a machine that also does other work. To be sourced by bash:
# start_load COUNT starts them, end_load ends them by their process ids.

load_pids=()

start_load() {
    local number
    for ((number = 0; number < $1; number++)); do
        # One whose script was killed, and could not end it, ends by itself.
        bash -c 'while kill -0 "$1"; do for ((i = 0; i < 200000; i++)); do :; done; done' busy-loop $$ \
            >/dev/null 2>&1 </dev/null &
        load_pids+=($!)
    done
}

end_load() {
    [ "${#load_pids[@]}" -gt 0 ] || return 0
    kill "${load_pids[@]}" 2>/dev/null || true
    wait "${load_pids[@]}" 2>/dev/null || true
    load_pids=()
}
