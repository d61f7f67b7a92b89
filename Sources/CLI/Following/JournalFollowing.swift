import NightshiftAPI
import NightshiftClient

/// Prints decisions as they are made, until the user presses ^C.
struct JournalFollowing: Sendable {
    var reader: JournalReader
    var printer: JournalPrinter

    private static let firstPause: Duration = .milliseconds(100)
    /// The longest pause while the service does not run. Following waits for it and does not start it.
    private static let longestPause: Duration = .seconds(2)

    /// Returns true if a signal arrived.
    func run() async throws -> Bool {
        try await InterruptSignals.ending { try await follow() }
    }

    private func follow() async throws {
        var reader = reader
        var pause = Self.firstPause
        while true {
            do {
                // Entries from before the opening of the stream are read here. Later ones arrive through the stream.
                let events = reader.service.client.events(.events(progress: false), lastEventID: reader.last)
                for try await _ in events {
                    pause = Self.firstPause
                    while let entries = try await reader.next() { try printer.print(entries) }
                }
            } catch is ServiceUnreachable {
                try Task.checkCancellation()
            } catch let problem as Problem where problem.status == 503 || problem.status == 429 {
                // The service is about to stop, or has too many event streams at the moment.
            }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, Self.longestPause)
        }
    }
}
