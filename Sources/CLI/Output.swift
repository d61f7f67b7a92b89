package import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Where a command's words go: standard output, standard error, or a test's ear.
package struct Output: Sendable {
    /// Whether a person's terminal is at the other end, so that lines may be redrawn.
    package var isTerminal: Bool
    /// Whether words may be coloured.
    package var allowsColor: Bool
    package var size: @Sendable () -> TerminalSize
    package var write: @Sendable (_ bytes: Data) -> Void
    /// Why some of what was written did not get there: the first error number, nil where there was none.
    package var failure: @Sendable () -> Int32?
    /// Whether nobody reads what is still to be written.
    package var isAbandoned: @Sendable () -> Bool

    package init(
        isTerminal: Bool, allowsColor: Bool = false, size: @escaping @Sendable () -> TerminalSize = { .standard },
        failure: @escaping @Sendable () -> Int32? = { nil },
        isAbandoned: @escaping @Sendable () -> Bool = { false }, write: @escaping @Sendable (Data) -> Void
    ) {
        self.isTerminal = isTerminal
        self.allowsColor = allowsColor
        self.size = size
        self.failure = failure
        self.isAbandoned = isAbandoned
        self.write = write
    }

    func write(_ text: String) {
        write(Data(text.utf8))
    }

    func line(_ text: String = "") {
        write(text + "\n")
    }

    func lines(_ texts: [String]) {
        for text in texts { line(text) }
    }
}

package struct TerminalSize: Hashable, Sendable {
    package var columns: Int
    package var rows: Int

    package init(columns: Int, rows: Int) {
        self.columns = columns
        self.rows = rows
    }

    /// The size that terminals have had since the VT100.
    package static let standard = TerminalSize(columns: 80, rows: 24)
}

extension Output {
    /// An open descriptor of this process; `COLUMNS` and `LINES` outrank what the terminal says, `NO_COLOR` and a
    /// dumb terminal forbid colour.
    init(descriptor: Int32, environment: [String: String]) {
        let isTerminal = isatty(descriptor) == 1 && environment["TERM"] != "dumb"
        let writer = DescriptorWriter(descriptor)
        self.init(
            isTerminal: isTerminal,
            allowsColor: isTerminal && (environment["NO_COLOR"] ?? "").isEmpty,
            size: {
                var window = winsize()
                let known = ioctl(descriptor, UInt(TIOCGWINSZ), &window) == 0
                func dimension(_ name: String, _ said: UInt16, _ standard: Int) -> Int {
                    if let value = environment[name].flatMap({ Int($0) }), value > 0 { return value }
                    return known && said > 0 ? Int(said) : standard
                }
                return TerminalSize(
                    columns: dimension("COLUMNS", window.ws_col, TerminalSize.standard.columns),
                    rows: dimension("LINES", window.ws_row, TerminalSize.standard.rows))
            },
            failure: { writer.failure }, isAbandoned: { writer.isAbandoned }, write: { writer.write($0) })
    }
}

/// Writes all of what it is given to a descriptor, and keeps the first error. Thread-safe.
private final class DescriptorWriter: Sendable {
    private let descriptor: Int32
    private let firstError = Mutex<Int32?>(nil)
    private let hasNoReader = Atomic<Bool>(false)

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Nil where all was written, and where the reader went away: it had enough.
    var failure: Int32? { firstError.withLock { $0 } }

    var isAbandoned: Bool { hasNoReader.load(ordering: .relaxed) || failure != nil }

    func write(_ data: Data) {
        data.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if !canGoOn(after: count < 0 ? errno : EIO) {
                    return
                }
            }
        }
    }

    private func canGoOn(after error: Int32) -> Bool {
        switch error {
        case EINTR: return true
        case EAGAIN:
            // Another program has set the open file to non-blocking, which holds for all that have it.
            var place = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            poll(&place, 1, -1)
            return true
        case EPIPE:
            hasNoReader.store(true, ordering: .relaxed)
            return false
        default:
            firstError.withLock { $0 = $0 ?? error }
            return false
        }
    }
}
