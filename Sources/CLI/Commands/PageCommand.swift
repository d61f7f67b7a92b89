import ArgumentParser
import Foundation
import NightshiftAPI
import NightshiftClient

struct PageCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "page",
        abstract: "Open a live page with apps, transfers and what kept the device awake.",
        discussion: """
            Starts a small program that serves the page to this machine alone, and opens it in the browser. The link \
            lets one browser in, once; the program ends ten minutes after the last visitor has left. Everything goes on \
            without it.

            Examples:
              nightshift page
              nightshift page --no-open
              nightshift page --no-open --port 8080 --json
            """)

    @Flag(name: .customLong("no-open"), help: "Print the address in place of opening it.")
    var noOpen = false

    @Option(help: "The port; a free one unless given.")
    var port = 0

    @OptionGroup var format: JSONOption

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("A port is a number from 0 to 65535.") }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let service = invocation.service
        try await service.ready()
        let launcher = PageLauncher(
            paths: service.launcher.paths, search: service.launcher.search, environment: service.launcher.environment)
        let address = try launcher.start(port: port)
        if format.json { try invocation.json(address) }
        if noOpen {
            if !format.json { invocation.output.line(address.url) }
            return .whole
        }
        let opener = URLOpener(environment: invocation.environment)
        if try await opener.open(address.url, log: launcher.log) { return .whole }
        invocation.errors.line("nightshift: xdg-open opened no browser. The page is here, for one browser, once:")
        if !format.json { invocation.output.line(address.url) }
        return .whole
    }
}
