import ArgumentParser
import NightshiftAPI
import Page

struct PageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "page",
        abstract: "Serve the page for a browser on a port of 127.0.0.1.",
        discussion: """
            A client of the service's API like any other, which may come and go while it runs. Writes a link to standard \
            output, as JSON, that lets one browser in, once; ends when nobody has looked for a while. 'nightshift page' \
            starts it and opens the link.

            EXIT STATUS
              0 nobody looks any more   1 the port cannot be used
            """)

    @Option(help: "The port; 0 for one that is free.")
    var port = 0

    @Option(help: ArgumentHelp("Seconds to wait for a visitor.", visibility: .hidden))
    var patience = Int(PageProcess.patience.components.seconds)

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("A port is a number from 0 to 65535.") }
        guard patience > 0 else { throw ValidationError("The patience is a number of seconds.") }
    }

    func run() async throws {
        let status = await PageProcess.run(port: port, patience: .seconds(patience))
        if status != 0 { throw ExitCode(status) }
    }
}
