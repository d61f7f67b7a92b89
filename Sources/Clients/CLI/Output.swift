package import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The destination of a command's output: standard output, standard error, or a test.
package struct Output: Sendable {
    /// Whether the output is a terminal, so that lines may be redrawn.
    package var isTerminal: Bool
    /// Whether colours may be used.
    package var allowsColor: Bool
    package var size: @Sendable () -> TerminalSize
    package var write: @Sendable (_ bytes: Data) -> Void
    /// The number of the first write error; nil if everything was written.
    package var failure: @Sendable () -> Int32?
    /// Whether nobody reads the output, so that further output is pointless.
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

    /// The size that is assumed if the terminal's size is unknown. Terminals have had this size since the VT100.
    package static let standard = TerminalSize(columns: 80, rows: 24)
}

extension Output {
    /// Creates the output for an open file descriptor of this process. `COLUMNS` and `LINES` override the terminal's
    /// size. `NO_COLOR` and `TERM=dumb` turn colours off.
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

/// A thread-safe writer that writes all data to a file descriptor and keeps the first error.
private final class DescriptorWriter: Sendable {
    private let descriptor: Int32
    private let firstError = Mutex<Int32?>(nil)
    private let hasNoReader = Atomic<Bool>(false)

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// The first error, or nil if everything was written. It is also nil if the reader closed the pipe, which is not an
    /// error.
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
            // Another program has made the open file description non-blocking, which affects every process that shares
            // it.
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
