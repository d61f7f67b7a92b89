package import Logging

/// A log handler for the journal of systemd. Each line begins with its priority (sd-daemon(3)), and has no time, because
/// the journal records both.
package struct JournalLogHandler: LogHandler {
    package var logLevel: Logger.Level = .info
    package var metadata: Logger.Metadata = [:]
    private let write: @Sendable (String) -> Void

    /// - Parameter write: writes the lines of an entry. They end with a line break.
    init(write: @escaping @Sendable (String) -> Void) {
        self.write = write
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let words = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        let error = event.error.map { ": \($0)" } ?? ""
        write(Self.lines("\(event.message)\(error)\(words)", event.level))
    }

    /// Returns lines with the priority of a level. A text with line breaks becomes several entries of the journal.
    static func lines(_ text: String, _ level: Logger.Level) -> String {
        let priority =
            switch level {
            case .trace, .debug: 7
            case .info: 6
            case .notice: 5
            case .warning: 4
            case .error: 3
            case .critical: 2
            }
        return text.split(whereSeparator: \.isNewline).map { "<\(priority)>\($0)\n" }.joined()
    }
}
