import ArgumentParser
import Aria2Bridge

struct BridgeProcessCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aria2",
        abstract: "Serve clients of aria2 on a port of 127.0.0.1.",
        discussion: """
            Runs as an ordinary client of the service. Writes JSON with the port to standard output. \
            'nightshift aria2' starts the program, and 'nightshift aria2 --stop' ends it. With a listening socket from \
            systemd, the program uses that socket, and exits when no client has used it for a minute.

            ENVIRONMENT
              NIGHTSHIFT_ARIA2_SECRET   a new secret for clients

            EXIT STATUS
              0 ended by a client or a signal   1 the port or the settings cannot be used
            """)

    @Option(help: "The port; 0 for any free port.")
    var port = BridgeProcess.standardPort

    @Option(help: "The origin of a web page that may use the bridge, such as http://127.0.0.1:8080. Repeatable.")
    var allowOrigin: [String] = []

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("The port must be a number from 0 to 65535.") }
    }

    func run() async throws {
        let status = await BridgeProcess.run(port: port, allowedOrigins: allowOrigin)
        if status != 0 { throw ExitCode(status) }
    }
}
