#!/usr/bin/env python3
"""A disk with a volatile write cache, for one run of one virtual machine: an NBD server on a Unix socket.

What the machine writes stays in memory until the machine flushes it. When the machine loses power (its connection ends without a
goodbye), each block that was not flushed is lost, kept, or kept in an older version, at random, as on a real disk.

SIGUSR1 cuts the power: after some more writes, so that cuts often find something in the cache, or soon if there are none. The disk
then kills the machine's process, which is its client.

Below it lie layers, which are never written: an image, and the layers that earlier runs have added. A layer is a sparse file next to
a map of the blocks that it has.

Usage: disk.py SOCKET LAYER REPORT SEED IMAGE [LOWER-LAYER ...]
"""

import json
import os
import random
import signal
import socket
import struct
import sys
import zlib

BLOCK = 4096
# Disks write out what they hold when their cache is full.
CACHE_LIMIT = 64 << 20

READ, WRITE, GOODBYE, FLUSH, TRIM = 0, 1, 2, 3, 4
FORCE_UNIT_ACCESS = 1
HAS_FLAGS, CAN_FLUSH, CAN_FORCE = 1, 4, 8


class PowerCut(Exception):
    """The end of the machine at this write."""


class Layers:
    """The durable content: one file per layer, and for each block the number of the layer that has its latest version."""

    def __init__(self, image, lower, top):
        self.size = os.path.getsize(image)
        self.files = [os.open(image, os.O_RDONLY)]
        self.owner = bytearray(self.size // BLOCK)
        for number, path in enumerate(lower, 1):
            self.files.append(os.open(path, os.O_RDONLY))
            for block, there in enumerate(read_map(path)):
                if there:
                    self.owner[block] = number
        self.top = len(self.files)
        self.path = top
        self.files.append(os.open(top, os.O_RDWR | os.O_CREAT, 0o600))
        os.ftruncate(self.files[-1], self.size)
        if os.path.exists(top + ".map"):
            for block, there in enumerate(read_map(top)):
                if there:
                    self.owner[block] = self.top

    def read(self, first, count):
        parts = []
        end = first + count
        while first < end:
            owner = self.owner[first]
            last = first + 1
            while last < end and self.owner[last] == owner:
                last += 1
            parts.append(os.pread(self.files[owner], (last - first) * BLOCK, first * BLOCK))
            first = last
        return b"".join(parts)

    def write(self, block, data):
        os.pwrite(self.files[self.top], data, block * BLOCK)
        for number in range(block, block + len(data) // BLOCK):
            self.owner[number] = self.top

    def save(self):
        top = self.top
        there = bytes(1 if owner == top else 0 for owner in self.owner)
        with open(self.path + ".map.new", "wb") as file:
            file.write(zlib.compress(there, 1))
        os.rename(self.path + ".map.new", self.path + ".map")


def read_map(path):
    with open(path + ".map", "rb") as file:
        return zlib.decompress(file.read())


class Disk:
    """The layers under a cache of blocks that were written and not flushed, each with its versions since the last flush."""

    def __init__(self, layers, seed):
        self.layers = layers
        self.random = random.Random(seed)
        self.cache = {}
        self.held = 0
        # The number of writes until the power goes; None while no cut was requested.
        self.writes_left = None
        self.report = {"writes": 0, "written": 0, "forced": 0, "flushes": 0, "held": 0, "lost": 0, "kept": 0, "older": 0, "cut": False}

    def read(self, offset, length):
        first, end = offset // BLOCK, (offset + length + BLOCK - 1) // BLOCK
        data = self.layers.read(first, end - first)
        if self.cache:
            changed = [block for block in range(first, end) if block in self.cache] \
                if end - first < len(self.cache) else [block for block in self.cache if first <= block < end]
            if changed:
                data = bytearray(data)
                for block in changed:
                    data[(block - first) * BLOCK:(block - first + 1) * BLOCK] = self.cache[block][-1]
        skip = offset - first * BLOCK
        return data if skip == 0 and len(data) == length else data[skip:skip + length]

    def write(self, offset, data):
        self.report["writes"] += 1
        self.report["written"] += len(data)
        if offset % BLOCK or len(data) % BLOCK:
            first, end = offset // BLOCK, (offset + len(data) + BLOCK - 1) // BLOCK
            whole = bytearray(self.read(first * BLOCK, (end - first) * BLOCK))
            whole[offset - first * BLOCK:offset - first * BLOCK + len(data)] = data
            offset, data = first * BLOCK, bytes(whole)
        for position in range(0, len(data), BLOCK):
            block = (offset + position) // BLOCK
            self.cache.setdefault(block, []).append(data[position:position + BLOCK])
            self.held += BLOCK
        self.report["held"] = max(self.report["held"], self.held)
        if self.writes_left is not None:
            self.writes_left -= 1
            if self.writes_left <= 0:
                raise PowerCut
        while self.held > CACHE_LIMIT:
            # The block that has waited longest: dictionaries keep their order.
            self.store(next(iter(self.cache)))

    def store(self, block):
        versions = self.cache.pop(block)
        self.held -= BLOCK * len(versions)
        self.layers.write(block, versions[-1])

    def flush(self):
        self.report["flushes"] += 1
        blocks = sorted(self.cache)
        index = 0
        while index < len(blocks):
            run = [blocks[index]]
            while index + 1 < len(blocks) and blocks[index + 1] == run[-1] + 1:
                index += 1
                run.append(blocks[index])
            index += 1
            self.layers.write(run[0], b"".join(self.cache[block][-1] for block in run))
        self.cache.clear()
        self.held = 0

    def store_range(self, offset, length):
        """Stores what was just written, of a request that has to be durable."""
        for block in range(offset // BLOCK, (offset + length + BLOCK - 1) // BLOCK):
            if block in self.cache:
                self.store(block)

    def lose_power(self):
        self.report["cut"] = True
        self.report["pending"] = len(self.cache)
        # Of each cut, another part survives: from nearly nothing to nearly everything.
        share = self.random.random()
        for block, versions in self.cache.items():
            if self.random.random() >= share:
                self.report["lost"] += 1
                continue
            version = self.random.choice(versions)
            self.report["kept" if version is versions[-1] else "older"] += 1
            self.layers.write(block, version)
        self.cache.clear()


class Connection:
    """One client of the NBD protocol, to its end."""

    def __init__(self, stream, disk):
        self.stream = stream
        self.file = stream.makefile("rb", buffering=1 << 20)
        self.disk = disk

    def take(self, count):
        data = self.file.read(count)
        if len(data) < count:
            raise EOFError
        return data

    def handshake(self):
        self.stream.sendall(b"NBDMAGIC" + b"IHAVEOPT" + struct.pack(">H", 3))
        self.take(4)
        while True:
            magic, option, length = struct.unpack(">8sII", self.take(16))
            data = self.take(length)
            if option == 7:  # NBD_OPT_GO
                flags = HAS_FLAGS | CAN_FLUSH | CAN_FORCE
                self.reply(option, 3, struct.pack(">HQH", 0, self.disk.layers.size, flags))
                self.reply(option, 3, struct.pack(">HIII", 3, 1, BLOCK, 32 << 20))
                self.reply(option, 1, b"")
                return
            self.reply(option, 0x80000001, b"")

    def reply(self, option, kind, data):
        self.stream.sendall(struct.pack(">QIII", 0x3E889045565A9, option, kind, len(data)) + data)

    def serve(self):
        """Serves requests. Returns whether the client said goodbye."""
        try:
            self.handshake()
            while True:
                _, flags, kind, handle, offset, length = struct.unpack(">IHHQQI", self.take(28))
                data = b""
                if kind == READ:
                    data = self.disk.read(offset, length)
                elif kind == WRITE:
                    self.disk.write(offset, self.take(length))
                    if flags & FORCE_UNIT_ACCESS:
                        self.disk.report["forced"] += 1
                        self.disk.store_range(offset, length)
                elif kind == FLUSH:
                    self.disk.flush()
                elif kind == GOODBYE:
                    return True
                self.stream.sendall(struct.pack(">IIQ", 0x67446698, 0, handle))
                if data:
                    self.stream.sendall(data)
        except PowerCut:
            self.kill_client()
            return False
        except (EOFError, ConnectionError):
            return False

    def kill_client(self):
        credentials = self.stream.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        os.kill(struct.unpack("3i", credentials)[0], signal.SIGKILL)

    def request_cut(self, *_):
        self.disk.writes_left = self.disk.random.randrange(1, 60)
        signal.setitimer(signal.ITIMER_REAL, 2)


def main():
    path, layer, report, seed, image, *lower = sys.argv[1:]
    disk = Disk(Layers(image, lower, layer), seed)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path + ".new")
    listener.listen(1)
    os.rename(path + ".new", path)
    # A machine that never starts must not leave its disk running.
    listener.settimeout(60)
    stream, _ = listener.accept()
    listener.close()
    stream.settimeout(None)
    connection = Connection(stream, disk)
    signal.signal(signal.SIGUSR1, connection.request_cut)
    signal.signal(signal.SIGALRM, lambda *_: connection.kill_client())
    if not connection.serve():
        disk.lose_power()
    else:
        disk.flush()
    disk.layers.save()
    with open(report + ".new", "w") as file:
        json.dump(disk.report, file)
    os.rename(report + ".new", report)


main()
