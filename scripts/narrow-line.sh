#!/bin/sh
# Connects a client and a server, each in a network namespace, by a slow line with a queue. Needs root.
# usage: scripts/narrow-line.sh NAME RATE QUEUE [control=NAME] [delay=MS] [timestamps=0]
#
# The namespaces are NAMEc (198.18.0.1) and NAMEs (198.18.0.2). RATE is in the form of tc, such as 20mbit, and applies to
# each direction. QUEUE is in milliseconds. `control` is the server's congestion control, `delay` a round trip that the
# line adds, and `timestamps=0` a client without TCP timestamps. Prints "ready" when the line exists. Everything is
# removed when this script is ended by SIGTERM, or when the process that started it ends.
#
# The queue is in a third namespace: the kernel would notice a slow line of the sender itself, and would not fill its
# queue. Run programs with `nsenter --net=/run/netns/NAMEc`: `ip netns exec` would also copy all mounts, and a file
# system that somebody unmounts would stay in use.
set -eu
client=$1c server=$1s line=$1q rate=$2 queue=$3
control=cubic delay=0 timestamps=1
shift 3
for option in "$@"; do
    case $option in
    control=* | delay=* | timestamps=*) eval "${option%%=*}=\${option#*=}" ;;
    *) echo "narrow-line.sh: unknown option $option" >&2 && exit 2 ;;
    esac
done

remove() {
    for process in ${wire:-} ${watch:-}; do kill "$process" 2>/dev/null || true; done
    for name in "$client" "$server" "$line"; do ip netns del "$name" 2>/dev/null || true; done
}
trap remove EXIT
trap 'exit 0' TERM INT HUP

for name in "$client" "$server" "$line"; do
    ip netns add "$name"
    ip -n "$name" link set lo up
done
if [ "$delay" = 0 ]; then
    ip link add up0 netns "$client" type veth peer name down0 netns "$line"
else
    python3 "$(dirname "$0")/delay-line.py" "$client" up0 "$line" down0 "$delay" &
    wire=$!
    until ip -n "$line" link show down0 >/dev/null 2>&1; do
        kill -0 "$wire"
        sleep 0.1
    done
fi
ip link add up1 netns "$server" type veth peer name down1 netns "$line"
ip -n "$client" addr add 198.18.0.1/24 dev up0
ip -n "$server" addr add 198.18.0.2/24 dev up1
ip -n "$client" link set up0 up
ip -n "$server" link set up1 up
# The service uses a network only if it has a default route.
ip -n "$client" route add default via 198.18.0.2
ip -n "$server" route change 198.18.0.0/24 dev up1 congctl "$control"
nsenter --net="/run/netns/$client" sysctl -qw "net.ipv4.tcp_timestamps=$timestamps"
ip -n "$line" link add bridge0 type bridge
ip -n "$line" link set bridge0 up
for end in down0 down1; do
    ip -n "$line" link set "$end" master bridge0
    ip -n "$line" link set "$end" up
    tc -n "$line" qdisc add dev "$end" root tbf rate "$rate" burst 32kbit latency "${queue}ms"
done
echo ready
# A shell handles a signal while it waits, not while another program runs.
tail --pid="$PPID" -f /dev/null &
watch=$!
wait "$watch" || true
