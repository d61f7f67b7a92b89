import ArgumentParser
import Foundation
import NightshiftAPI
import NightshiftClient

struct PageCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "page",
        abstract: "Open a live page with apps, transfers, the timeline and the device.",
        discussion: """
            Starts a process that serves the page on this machine only, and opens the page in your browser. The link \
            works once, and gives one browser access. The process ends ten minutes after the last browser has closed \
            the page. Transfers and apps do not depend on it.

            Examples:
              nightshift page
              nightshift page --no-open
              nightshift page --no-open --port 8080 --json
            """)

    @Flag(name: .customLong("no-open"), help: "Print the address instead of opening it.")
    var noOpen = false

    @Option(help: "The port, or 0 for any free port.")
    var port = 0

    @OptionGroup var format: JSONOption

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port must be from 0 to 65535.") }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let service = invocation.service
        try await service.ready()
        let program = ClientProgram(name: "page", launcher: service.launcher)
        let address: PageAddress = try program.start(["--port", String(port)])
        if format.json { try invocation.json(address) }
        if noOpen {
            if !format.json { invocation.output.line(address.url) }
            return .whole
        }
        let opener = URLOpener(environment: invocation.environment)
        if try await opener.open(address.url, log: program.log) { return .whole }
        invocation.errors.line(
            "nightshift: xdg-open could not open a browser. Open this link yourself; it works once:")
        if !format.json { invocation.output.line(address.url) }
        return .whole
    }
}
