import Glibc
package import NightshiftAPI
import Synchronization

/// Compares the first bytes of a response's body with those that a file has at their place.
///
/// Bytes come on the transport's thread; any thread may ask how it went.
package final class OverlapComparison: Sendable {
    package enum Finding: Hashable, Sendable {
        case pending
        case agrees
        case differs
        /// All bytes compared are one value, as in the holes of disk images: any two files may agree in that.
        case provesNothing
        case unreadable
    }

    fileprivate struct State {
        var finding = Finding.pending
        var position: Int64
        /// The first byte.
        var first: UInt8?
        /// Whether another value than the first came as well.
        var isMixed = false
    }

    private let descriptor: Int32
    private let range: Range<Int64>
    private let isAll: Bool
    private let agreed: @Sendable () -> Void
    private let state: Mutex<State>

    /// - Parameters:
    ///   - descriptor: stays open until the exchange has ended.
    ///   - range: the offsets of what is compared; not empty.
    ///   - isAll: whether nothing is left out, so that even bytes of one value prove something.
    ///   - agreed: called once, when all of them agree, before any byte behind them is taken.
    init(descriptor: Int32, range: Range<Int64>, isAll: Bool = false, agreed: @escaping @Sendable () -> Void) {
        self.descriptor = descriptor
        self.range = range
        self.isAll = isAll
        self.agreed = agreed
        state = Mutex(State(position: range.lowerBound))
    }

    var finding: Finding { state.withLock(\.finding) }

    /// Bytes that were compared.
    package var compared: Int64 { state.withLock { $0.position - range.lowerBound } }

    /// Bytes that are still to be compared.
    package var rest: Int64 { state.withLock { range.upperBound - $0.position } }

    /// How an exchange ends whose bytes are others.
    package var failure: TransferFailure {
        finding == .unreadable
            ? TransferFailure(.inputOutput, "The bytes that are here could not be read.")
            : TransferFailure(.resourceChanged, "The file at the new URL is another one.")
    }

    /// Compares as many of `bytes` as belong to the range.
    ///
    /// - Returns: how many those are; nil where the exchange has to end with ``failure``.
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
    /// Bytes read from the file at once.
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
