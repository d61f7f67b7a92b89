import NightshiftAPI
import NightshiftClient

/// Prints what an app writes, as it writes it, until ^C.
struct AppLogFollowing: Sendable {
    var reader: AppLogReader
    var printer: AppLogPrinter

    /// A person sees no difference to at once; the service is asked only while somebody follows.
    private static let pause: Duration = .milliseconds(250)
    /// For a service that is away: it is waited for, not started, because nobody needs it for reading.
    private static let longestPause: Duration = .seconds(2)

    /// True when a signal came.
    func run() async throws -> Bool {
        try await InterruptSignals.ending { try await follow() }
    }

    private func follow() async throws {
        var reader = reader
        var printer = printer
        var pause = Self.pause
        while true {
            do {
                while let piece = try await reader.next() { try printer.write(piece) }
                pause = Self.pause
            } catch is ServiceUnreachable {
                try Task.checkCancellation()
                pause = min(pause * 2, Self.longestPause)
            } catch let problem as Problem where problem.status == 503 {
                pause = min(pause * 2, Self.longestPause)
            }
            try await Task.sleep(for: pause)
        }
    }
}
