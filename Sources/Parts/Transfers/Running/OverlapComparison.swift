import Glibc
package import NightshiftAPI
import Synchronization

/// A comparison of the first bytes of a response's body with the bytes of a file at the same offsets.
///
/// The transport's thread adds bytes, and any thread may read the result.
package final class OverlapComparison: Sendable {
    package enum Finding: Hashable, Sendable {
        case pending
        case agrees
        case differs
        /// All compared bytes have the same value, as in the holes of disk images. This is no proof, because any two
        /// files may agree in such bytes.
        case provesNothing
        case unreadable
    }

    fileprivate struct State {
        var finding = Finding.pending
        var position: Int64
        /// The first byte.
        var first: UInt8?
        /// Whether a byte differed from the first one.
        var isMixed = false
    }

    private let descriptor: Int32
    private let range: Range<Int64>
    private let isAll: Bool
    private let agreed: @Sendable () -> Void
    private let state: Mutex<State>

    /// Prepares a comparison of a response's bytes with the bytes of a file.
    ///
    /// - Parameters:
    ///   - descriptor: stays open until the exchange has ended.
    ///   - range: the offsets of the bytes to compare; not empty.
    ///   - isAll: whether all bytes on disk are compared, so that even bytes of one value are a proof.
    ///   - agreed: the function that is called once, when all bytes agree, before any later byte is handled.
    init(descriptor: Int32, range: Range<Int64>, isAll: Bool = false, agreed: @escaping @Sendable () -> Void) {
        self.descriptor = descriptor
        self.range = range
        self.isAll = isAll
        self.agreed = agreed
        state = Mutex(State(position: range.lowerBound))
    }

    var finding: Finding { state.withLock(\.finding) }

    /// The number of bytes that were compared.
    package var compared: Int64 { state.withLock { $0.position - range.lowerBound } }

    /// The number of bytes that are left to compare.
    package var rest: Int64 { state.withLock { range.upperBound - $0.position } }

    /// The failure for an exchange whose bytes differ.
    package var failure: TransferFailure {
        finding == .unreadable
            ? TransferFailure(.inputOutput, "The bytes on disk could not be read.")
            : TransferFailure(.resourceChanged, "The file at the new URL is a different file.")
    }

    /// Compares the part of `bytes` that belongs to the range.
    ///
    /// - Returns: the number of compared bytes; nil if the exchange must end with ``failure``.
    package func compare(_ bytes: UnsafeRawBufferPointer) -> Int? {
        let (before, after, count) = state.withLock { state in
            let before = state.finding
            let count = state.compare(bytes, descriptor, until: range.upperBound)
            if isAll, state.finding == .provesNothing { state.finding = .agrees }
            return (before, state.finding, count)
        }
        if before == .pending, after == .agrees { agreed() }
        return after == .pending || after == .agrees ? count : nil
    }
}

extension OverlapComparison.State {
    /// The number of bytes that are read from the file at once.
    private static let piece = 16 << 10

    fileprivate mutating func compare(_ bytes: UnsafeRawBufferPointer, _ descriptor: Int32, until end: Int64) -> Int {
        var done = 0
        while finding == .pending, done < bytes.count {
            let count = min(bytes.count - done, Int(end - position), Self.piece)
            let theirs = UnsafeRawBufferPointer(rebasing: bytes[done..<done + count])
            finding = withUnsafeTemporaryAllocation(byteCount: count, alignment: 1) { ours in
                guard let here = ours.baseAddress, let there = theirs.baseAddress,
                    pread(descriptor, here, count, off_t(position)) == count
                else { return .unreadable }
                return memcmp(here, there, count) == 0 ? .pending : .differs
            }
            first = first ?? theirs.first
            isMixed = isMixed || theirs.contains { $0 != first }
            done += count
            position += Int64(count)
            if finding == .pending, position == end { finding = isMixed ? .agrees : .provesNothing }
        }
        return done
    }
}
