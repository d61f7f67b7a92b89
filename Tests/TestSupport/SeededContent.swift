import Glibc
import Synchronization

/// A content of bytes derived from a seed, which can be read at any offset at the cost of a copy.
///
/// Each block of 64 KiB is a window into a table of random bytes, preceded by eight bytes of its own. So a misplaced
/// block, a shifted block and a block of another seed all differ from the right one.
package struct SeededContent: Sendable, Hashable {
    package let seed: UInt64
    package let size: Int64

    private static let blockSize = 64 << 10
    private static let windows = 1 << 20

    package init(seed: UInt64, size: Int64) {
        self.seed = seed
        self.size = size
    }

    /// Fills the buffer with the bytes from `offset` on, even after ``size``.
    package func fill(_ buffer: UnsafeMutableRawBufferPointer, from offset: Int64) {
        guard let base = buffer.baseAddress else { return }
        let table = Self.table(for: seed)
        table.withUnsafeBytes { table in
            guard let source = table.baseAddress else { return }
            var filled = 0
            while filled < buffer.count {
                let position = offset + Int64(filled)
                let block = position / Int64(Self.blockSize)
                let inBlock = Int(position % Int64(Self.blockSize))
                let count = min(Self.blockSize - inBlock, buffer.count - filled)
                let stamp = SplitMix64.mix(seed &+ 0x632b_e59b_d9b4_e019 &* UInt64(block + 1))
                let window = Int(truncatingIfNeeded: stamp >> 13) & (Self.windows - 1)
                memcpy(base + filled, source + window + inBlock, count)
                if inBlock < 8 {
                    withUnsafeBytes(of: stamp.littleEndian) { stamp in
                        for index in inBlock..<min(8, inBlock + count) {
                            buffer[filled + index - inBlock] = stamp[index]
                        }
                    }
                }
                filled += count
            }
        }
    }

    /// Returns the bytes of the range. This function is meant for small ranges.
    package func bytes(_ range: Range<Int64>) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(range.upperBound - range.lowerBound)) { buffer, count in
            count = Int(range.upperBound - range.lowerBound)
            let raw = UnsafeMutableRawBufferPointer(buffer)
            fill(UnsafeMutableRawBufferPointer(rebasing: raw[..<count]), from: range.lowerBound)
        }
    }

    /// Returns the offset at which the file first differs from the content, or nil if both are the same, including the
    /// length.
    package func firstMismatch(inFileAt path: String) throws -> Int64? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError("open \(path)") }
        defer { close(descriptor) }
        let piece = 1 << 20
        let buffers = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * piece, alignment: 16)
        defer { buffers.deallocate() }
        let found = UnsafeMutableRawBufferPointer(rebasing: buffers[..<piece])
        let expected = UnsafeMutableRawBufferPointer(rebasing: buffers[piece...])
        var offset: Int64 = 0
        while true {
            let count = read(descriptor, found.baseAddress, piece)
            guard count >= 0 else { throw SystemError("read \(path)") }
            if count == 0 { return offset == size ? nil : offset }
            fill(UnsafeMutableRawBufferPointer(rebasing: expected[..<count]), from: offset)
            let comparable = min(count, Int(clamping: size - offset))
            if !Self.isEqual(found, expected, comparable) {
                return (0..<comparable).first { found[$0] != expected[$0] }.map { offset + Int64($0) }
            }
            offset += Int64(comparable)
            if comparable < count { return offset }
        }
    }

    /// Returns the offset at which the file first differs from `size` bytes of `seed`, or nil if both are the same.
    package static func verify(fileAt path: String, seed: UInt64, size: Int64) throws -> Int64? {
        try SeededContent(seed: seed, size: size).firstMismatch(inFileAt: path)
    }

    private static func isEqual(
        _ one: UnsafeMutableRawBufferPointer, _ other: UnsafeMutableRawBufferPointer, _ count: Int
    ) -> Bool {
        guard let one = one.baseAddress, let other = other.baseAddress else { return true }
        return memcmp(one, other, count) == 0
    }

    // MARK: - Tables

    private static let tables = Mutex<[UInt64: [UInt64]]>([:])

    private static func table(for seed: UInt64) -> [UInt64] {
        if let table = tables.withLock({ $0[seed] }) { return table }
        var generator = SplitMix64(seed: seed)
        let count = (windows + blockSize) / 8
        let table = [UInt64](unsafeUninitializedCapacity: count) { buffer, initialized in
            var index = 0
            while index < count {
                buffer[index] = generator.next().littleEndian
                index += 1
            }
            initialized = count
        }
        tables.withLock { tables in
            // Only a few tables are kept, because tests use thousands of seeds of a megabyte each.
            if tables.count >= 16 { tables.removeAll() }
            tables[seed] = table
        }
        return table
    }
}
