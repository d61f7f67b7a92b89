import ArgumentParser
import Foundation
import Glibc
import NightshiftAPI
import NightshiftClient

struct Aria2Command: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "aria2",
        abstract: "Let programs that use aria2 download with Nightshift.",
        discussion: """
            Starts the bridge: a process that speaks aria2's RPC protocol on this machine only. Browser extensions, \
            AriaNg, aria2p and other programs that use aria2 can add and control downloads there. The downloads \
            continue without the bridge.

            Clients need the secret, which is made at the first start and shown once. It is stored in \
            ~/.local/state/nightshift/aria2.json. Set another one with --secret; with --secret -, it is read from \
            standard input.

            Web pages such as AriaNg also need --allow-origin with the address that the page was loaded from.

            Examples:
              nightshift aria2
              nightshift aria2 --port 6801 --allow-origin http://127.0.0.1:8080
              nightshift aria2 --stop
            """)

    @Option(help: "The port, or 0 for any free port.")
    var port = BridgeAddress.standardPort

    @Option(help: "The secret of clients, or - to read it from standard input.")
    var secret: String?

    @Option(
        name: .customLong("allow-origin"),
        help: "The origin of a web page that may use the bridge, such as http://127.0.0.1:8080. Repeatable.")
    var allowOrigin: [String] = []

    @Flag(help: "End the bridge. Downloads continue.")
    var stop = false

    @OptionGroup var format: JSONOption

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port must be from 0 to 65535.") }
        guard secret != "" else { throw ValidationError("The secret must not be empty.") }
        for origin in allowOrigin {
            let url = URL(string: origin)
            guard origin == "null" || url?.scheme != nil && url?.host() != nil && url?.path() == "" else {
                throw ValidationError(
                    "'\(origin)' is not an origin. Write the scheme, host and port: http://127.0.0.1:8080")
            }
        }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let launcher = invocation.service.launcher
        let record = BridgeRecord(paths: launcher.paths)
        let isStartedBySystemd = launcher.userManager?.state(of: UserManager.bridgeSocket)?.isActive ?? false
        if stop { return try await end(record, isStartedBySystemd, invocation) }
        let running = record.running
        if isStartedBySystemd || running != nil {
            let port = running?.port ?? BridgeAddress.standardPort
            guard secret == nil, allowOrigin.isEmpty, self.port == port || self.port == BridgeAddress.standardPort
            else {
                throw CommandFailure.failed(
                    isStartedBySystemd
                        ? "systemd starts the bridge when a program connects. To start it with other options, end that "
                            + "first: \(Self.disable)"
                        : "The bridge already runs on port \(port). To change its options, end it first: "
                            + "nightshift aria2 --stop")
            }
            return try show(port: port, process: running?.processID, secret: nil, invocation)
        }
        try await invocation.service.ready()
        var program = ClientProgram(name: "aria2", launcher: launcher)
        if let secret = try wantedSecret() { program.environment[BridgeAddress.secretVariable] = secret }
        let origins = allowOrigin.flatMap { ["--allow-origin", $0] }
        let address: BridgeAddress = try program.start(["--port", String(port)] + origins)
        return try show(port: address.port, process: address.processID, secret: address.secret, invocation)
    }

    private static let disable = "systemctl --user disable --now \(UserManager.bridgeSocket)"

    private func wantedSecret() throws -> String? {
        guard secret == "-" else { return secret }
        guard let line = readLine(), !line.isEmpty else {
            throw CommandFailure.failed("Standard input has no secret. Write it on one line.")
        }
        return line
    }

    /// - Parameter process: nil if systemd starts it when a program connects.
    private func show(port: Int, process: Int32?, secret: String?, _ invocation: Invocation) throws -> ExitStatus {
        let report = BridgeReport(
            url: BridgeAddress.url(port: port), webSocket: BridgeAddress.webSocket(port: port), processID: process,
            secret: secret)
        if format.json {
            try invocation.json(report)
            return .whole
        }
        invocation.output.line("JSON-RPC:  \(report.url)")
        invocation.output.line("WebSocket: \(report.webSocket)")
        if let secret {
            invocation.output.line("Secret:    \(secret)")
            invocation.output.line("Clients need the secret. It is not shown again.")
        }
        if process == nil { invocation.output.line("systemd starts the bridge when a program connects.") }
        return .whole
    }

    private func end(
        _ record: BridgeRecord, _ isStartedBySystemd: Bool, _ invocation: Invocation
    ) async throws -> ExitStatus {
        let running = record.running
        if let running {
            guard kill(running.processID, SIGTERM) == 0 else {
                throw CommandFailure.failed("Process \(running.processID) could not be ended.")
            }
            while record.running?.processID == running.processID { try await Task.sleep(for: .milliseconds(10)) }
        }
        guard !format.json else { return .whole }
        invocation.output.line(
            running == nil ? "The bridge does not run." : "The bridge has ended. Downloads continue.")
        if isStartedBySystemd {
            invocation.output.line("systemd starts it when a program connects. To end that: \(Self.disable)")
        }
        return .whole
    }
}

/// The address of the process for clients of aria2, as `--json` prints it.
private struct BridgeReport: Encodable {
    var url: String
    var webSocket: String
    /// Nil if systemd starts the process when a program connects.
    var processID: Int32?
    var secret: String?
}
