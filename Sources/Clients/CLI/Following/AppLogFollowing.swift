import NightshiftAPI
import NightshiftClient

/// An operation that prints an app's log as the app writes it, until the user presses ^C.
struct AppLogFollowing: Sendable {
    var reader: AppLogReader
    var printer: AppLogPrinter

    /// The time between two requests. It is short enough that output seems to appear at once. Requests are sent only
    /// while a user follows the log.
    private static let pause: Duration = .milliseconds(250)
    /// The maximum pause between requests while the service is not running. The command waits for the service and does
    /// not start it.
    private static let longestPause: Duration = .seconds(2)

    /// Prints the log. Returns true if a signal ended this.
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
