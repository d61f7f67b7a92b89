import ArgumentParser
import NightshiftAPI

struct AppLogCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Print an app's standard output and standard error.",
        discussion: """
            The service keeps the last 1 MiB of the output, or as much as X-Nightshift-LogLimit in the desktop entry \
            sets. With --follow new output is printed as the app writes it, until you press ^C. Restarts of the app or \
            the service do not end this.

            Examples:
              nightshift app log org.example.Photos
              nightshift app log -f org.example.Photos
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @Flag(name: .shortAndLong, help: "Continue with new output until you press ^C.")
    var follow = false

    @Flag(help: "Write JSON to standard output; with --follow, one object per line.")
    var json = false

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        var reader = AppLogReader(service: invocation.service, app: try invocation.appID(id))
        var printer = AppLogPrinter(
            app: reader.app, output: invocation.output, errors: invocation.errors, isJSON: json, isFollowing: follow)
        try await invocation.service.ready()
        // If the log does not exist, the first request fails. After that, the command follows the log even if the
        // service stops.
        if let piece = try await reader.next() { try printer.write(piece) }
        guard follow else {
            while let piece = try await reader.next() { try printer.write(piece) }
            try printer.finish()
            return .whole
        }
        let isInterrupted = try await AppLogFollowing(reader: reader, printer: printer).run()
        return isInterrupted ? .interrupted : .whole
    }
}
