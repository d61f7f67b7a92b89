import NightshiftAPI
import NightshiftClient

/// An operation that prints decisions as they are made, until the user presses ^C.
struct JournalFollowing: Sendable {
    var reader: JournalReader
    var printer: JournalPrinter

    private static let firstPause: Duration = .milliseconds(100)
    /// The maximum pause between requests while the service is not running. The command waits for the service and does
    /// not start it.
    private static let longestPause: Duration = .seconds(2)

    /// Prints the decisions. Returns true if a signal ended this.
    func run() async throws -> Bool {
        try await InterruptSignals.ending { try await follow() }
    }

    private func follow() async throws {
        var reader = reader
        var pause = Self.firstPause
        while true {
            do {
                // This reads the entries that were written before the stream was opened. The stream delivers the later
                // entries.
                let events = reader.service.client.events(.events(progress: false), lastEventID: reader.last)
                for try await _ in events {
                    pause = Self.firstPause
                    while let entries = try await reader.next() { try printer.print(entries) }
                }
            } catch is ServiceUnreachable {
                try Task.checkCancellation()
            } catch let problem as Problem where problem.status == 503 || problem.status == 429 {
                // The service is about to stop, or it has too many open event streams.
            }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, Self.longestPause)
        }
    }
}
