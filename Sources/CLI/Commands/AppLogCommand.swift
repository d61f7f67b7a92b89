import ArgumentParser
import NightshiftAPI

struct AppLogCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Print what an app has written to its standard output and error.",
        discussion: """
            The service keeps the end of it, 1 MiB unless the entry's X-Nightshift-LogLimit says otherwise. With \
            --follow what the app writes is printed as it comes, through its restarts and the service's, until ^C.

            Examples:
              nightshift app log org.example.Photos
              nightshift app log -f org.example.Photos
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @Flag(name: .shortAndLong, help: "Go on with what the app writes from now on.")
    var follow = false

    @Flag(help: "Write JSON on standard output; with --follow, one object to a line.")
    var json = false

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        var reader = AppLogReader(service: invocation.service, app: try invocation.appID(id))
        var printer = AppLogPrinter(
            app: reader.app, output: invocation.output, errors: invocation.errors, isJSON: json, isFollowing: follow)
        try await invocation.service.ready()
        // The first answer says whether there is such a log. Whoever follows it stays when the service goes, from then on.
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
