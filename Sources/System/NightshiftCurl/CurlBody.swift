import Glibc

/// The body of a request.
package enum CurlBody: Sendable {
    case none
    case bytes([UInt8])
    /// A body that consists of pieces, which are sent one after the other.
    case pieces(CurlPieces)

    /// Returns a body that consists of the first `size` bytes of a file. See
    /// ``CurlPieces/Piece/file(descriptor:offset:size:)``.
    package static func file(descriptor: Int32, size: Int64) -> CurlBody {
        .pieces(CurlPieces([.file(descriptor: descriptor, offset: 0, size: size)]))
    }

    /// The number of bytes to send.
    package var size: Int64 {
        switch self {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .pieces(let pieces): pieces.size
        }
    }
}

/// A body that is assembled from files and bytes while it is sent.
package struct CurlPieces: Sendable {
    package enum Piece: Sendable {
        case bytes([UInt8])
        /// A piece of `size` bytes of a file, beginning at `offset`. It is read with `pread`. The descriptor must stay
        /// open until the exchange has ended.
        case file(descriptor: Int32, offset: Int64, size: Int64)

        var size: Int64 {
            switch self {
            case .bytes(let bytes): Int64(bytes.count)
            case .file(_, _, let size): size
            }
        }
    }

    /// The total number of bytes in all pieces.
    package let size: Int64
    private let pieces: [Piece]
    /// The offset of each piece in the body.
    private let starts: [Int64]

    package init(_ pieces: [Piece]) {
        self.pieces = pieces.filter { $0.size > 0 }
        var starts: [Int64] = []
        var size: Int64 = 0
        for piece in self.pieces {
            starts.append(size)
            size += piece.size
        }
        self.starts = starts
        self.size = size
    }

    /// Copies bytes from `position`, which must be within the body, up to the end of their piece.
    ///
    /// - Returns: The number of bytes, which is at least one if the buffer is not empty. Nil if a file cannot be read.
    ///   In that case `errno` has the error, or 0 if the file has become shorter.
    func read(at position: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        var low = 0
        var high = pieces.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= position { low = middle } else { high = middle }
        }
        let skipped = position - starts[low]
        let count = Int(min(Int64(buffer.count), pieces[low].size - skipped))
        switch pieces[low] {
        case .bytes(let bytes):
            bytes.withUnsafeBytes { bytes in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[Int(skipped)...].prefix(count)))
            }
            return count
        case .file(let descriptor, let offset, _):
            var read: Int
            repeat {
                read = pread(descriptor, buffer.baseAddress, count, Int(offset + skipped))
            } while read < 0 && errno == EINTR
            if read == 0 { errno = 0 }
            return read > 0 ? read : nil
        }
    }
}
