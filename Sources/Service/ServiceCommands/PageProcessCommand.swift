import ArgumentParser
import NightshiftAPI
import Page

struct PageProcessCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "page",
        abstract: "Serve the page for a browser on a port of 127.0.0.1.",
        discussion: """
            Runs as an ordinary client of the service. Writes JSON with a link to standard output. The link works \
            once, in one browser. The program exits when no browser has used the page for a while. 'nightshift page' \
            starts the program and opens the link.

            EXIT STATUS
              0 stopped because the page was not used   1 the port cannot be used
            """)

    @Option(help: "The port; 0 for any free port.")
    var port = 0

    @Option(
        help: ArgumentHelp(
            "The number of seconds without requests from a browser after which the program exits.", visibility: .hidden)
    )
    var timeout = Int(PageProcess.timeout.components.seconds)

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("The port must be a number from 0 to 65535.") }
        guard timeout > 0 else { throw ValidationError("The timeout must be a number of seconds above 0.") }
    }

    func run() async throws {
        let status = await PageProcess.run(port: port, timeout: .seconds(timeout))
        if status != 0 { throw ExitCode(status) }
    }
}
