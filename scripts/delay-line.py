"""Connects two network interfaces by a line with a delay, where the kernel has no netem.

usage: delay-line.py NAMESPACE INTERFACE NAMESPACE INTERFACE ROUND_TRIP

Makes both interfaces. Each frame arrives at the other one after half of the round trip, which is in milliseconds.
"""

import collections
import ctypes
import fcntl
import os
import select
import struct
import sys
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 0x0002, 0x1000, 0x40000000


def interface(namespace, name):
    """Makes an interface whose frames this process reads and writes, and returns its descriptor."""
    entry = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(entry, CLONE_NEWNET) != 0:
        sys.exit(f"setns {namespace}: {os.strerror(ctypes.get_errno())}")
    os.close(entry)
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TAP | IFF_NO_PI))
    return descriptor


def main():
    ends = [interface(*sys.argv[1:3]), interface(*sys.argv[3:5])]
    delay = float(sys.argv[5]) / 2_000
    other = dict(zip(ends, reversed(ends)))
    frames = collections.deque()
    while True:
        # The time limits of poll and epoll have whole milliseconds.
        ready, _, _ = select.select(ends, [], [], max(frames[0][0] - time.monotonic(), 0) if frames else None)
        now = time.monotonic()
        for end in ready:
            try:
                while True:
                    frames.append((now + delay, other[end], os.read(end, 2_048)))
            except (BlockingIOError, OSError):
                pass  # No more frames, or the interface is not up yet.
        while frames and frames[0][0] <= now:
            _, end, frame = frames.popleft()
            try:
                os.write(end, frame)
            except OSError:
                pass  # The interface is full or not up, and the frame is lost.


main()
