package import Foundation

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

    package init(
        isTerminal: Bool, allowsColor: Bool = false, size: @escaping @Sendable () -> TerminalSize = { .standard },
        write: @escaping @Sendable (Data) -> Void
    ) {
        self.isTerminal = isTerminal
        self.allowsColor = allowsColor
        self.size = size
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
            write: { data in
                data.withUnsafeBytes { bytes in
                    var rest = UnsafeRawBufferPointer(bytes)[...]
                    while !rest.isEmpty {
                        let count = Glibc.write(
                            descriptor, rest.base.baseAddress?.advanced(by: rest.startIndex), rest.count)
                        if count < 0 && errno == EINTR { continue }
                        // A reader that has gone: SIGPIPE has its say, and a vanished terminal has none.
                        guard count > 0 else { return }
                        rest = rest.dropFirst(count)
                    }
                }
            })
    }
}
