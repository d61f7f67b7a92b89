import NightshiftAPI
import NightshiftClient

/// Prints what is decided, as it is decided, until ^C.
struct JournalFollowing: Sendable {
    var reader: JournalReader
    var printer: JournalPrinter

    private static let firstPause: Duration = .milliseconds(100)
    /// For a service that is away: it is waited for, not started, because nobody needs it for reading.
    private static let longestPause: Duration = .seconds(2)

    /// True when a signal came.
    func run() async throws -> Bool {
        try await InterruptSignals.ending { try await follow() }
    }

    private func follow() async throws {
        var reader = reader
        var pause = Self.firstPause
        while true {
            do {
                // Entries from before the stream was open are read here; later ones come over the stream.
                let events = reader.service.client.events(.events(progress: false), lastEventID: reader.last)
                for try await _ in events {
                    pause = Self.firstPause
                    while let entries = try await reader.next() { try printer.print(entries) }
                }
            } catch is ServiceUnreachable {
                try Task.checkCancellation()
            } catch let problem as Problem where problem.status == 503 || problem.status == 429 {
                // It is about to stop, or has too many readers for the moment.
            }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, Self.longestPause)
        }
    }
}
