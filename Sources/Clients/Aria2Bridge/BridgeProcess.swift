import CSystemd
import Foundation
import Glibc
import HTTPServing
import Logging
import NIOCore
import NightshiftAPI
import NightshiftClient
import Synchronization

/// The process of `nightshiftd aria2`, which runs the bridge.
package enum BridgeProcess {
    package static let standardPort = BridgeAddress.standardPort

    /// Serves clients of aria2 until a client or a signal ends the process. Writes the address to standard output, as a
    /// ``BridgeAddress`` in JSON on one line, and closes standard output.
    ///
    /// If systemd passes a listening socket, the process uses that socket, writes no address, and ends when no client has
    /// used it for a minute.
    ///
    /// - Returns: the exit status.
    package static func run(port: Int, allowedOrigins: [String]) async -> Int32 {
        signal(SIGPIPE, SIG_IGN)
        var logger = Logger(label: "nightshift-aria2") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .warning
        do {
            try await serve(port, Set(allowedOrigins), logger)
            return 0
        } catch let error as IOError where error.errnoCode == EADDRINUSE || error.errnoCode == EACCES {
            let reason = String(cString: strerror(error.errnoCode))
            return fail(
                "Port \(port) cannot be used: \(reason). aria2 may be running. Choose another port with --port.")
        } catch let failure as BridgeFailure {
            return fail(failure.message)
        } catch {
            return fail("The bridge ended: \(error)")
        }
    }

    private static func fail(_ message: String) -> Int32 {
        try? FileHandle.standardError.write(contentsOf: Data("nightshiftd: \(message)\n".utf8))
        return 1
    }

    private static func serve(_ port: Int, _ allowedOrigins: Set<String>, _ logger: Logger) async throws {
        // This call also removes systemd's variables, so that the service does not inherit them.
        let socket = sd_listen_fds(1) == 1 ? SD_LISTEN_FDS_START : nil
        let environment = ProcessInfo.processInfo.environment
        let home = FileManager.default.homeDirectoryForCurrentUser
        let paths = ServicePaths(environment: environment, homeDirectory: home)
        let record = BridgeRecord(paths: paths)
        // The lock comes first: a second bridge must not change the secret of the first one.
        guard record.take() else {
            throw BridgeFailure(message: "The bridge already runs. Stop it with: nightshift aria2 --stop")
        }
        let file = BridgeFile(paths: paths)
        let (content, isNew) = try content(of: file, wanted: environment[BridgeAddress.secretVariable])
        let launcher = ServiceLauncher(
            paths: paths,
            search: DaemonSearch(executable: ownProgram, searchPath: environment["PATH"] ?? ""),
            environment: environment.filter { $0.key != BridgeAddress.secretVariable })
        let end = ServerEnd()
        let bridge = Bridge(
            client: ServiceClient(paths: paths), launcher: launcher, file: file, content: content,
            directory: UserDirectories.downloads(environment: environment, home: home), logger: logger,
            end: { end.call() }, onRest: { if socket != nil { end.call() } })
        let server = BridgeServer(
            loopback: LoopbackServer(
                port: port, mostConnections: BridgeServer.mostConnections, descriptor: socket, logger: logger),
            gate: BridgeGate(allowedOrigins: allowedOrigins), dispatcher: CallDispatcher(bridge: bridge))
        try await server.run { port, close in
            end.set(close)
            var address = BridgeAddress(port: port, processID: getpid())
            try record.write(address)
            // systemd writes the output of its services to the journal, which is no place for a secret.
            guard socket == nil else { return }
            if isNew { address.secret = content.secret }
            try AddressOutput.write(address)
        }
    }

    /// Returns the stored settings with the wanted secret, and whether the secret was made here.
    private static func content(of settings: BridgeFile, wanted: String?) throws -> (BridgeFile.Content, isNew: Bool) {
        let stored = try settings.read()
        if let stored, wanted == nil || wanted == stored.secret { return (stored, false) }
        let content = BridgeFile.Content(secret: wanted ?? Secret().text, options: stored?.options ?? [:])
        try settings.write(content)
        return (content, wanted == nil)
    }

    private static var ownProgram: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    }
}

/// The closure that ends the server. It is known only when the server listens.
private final class ServerEnd: Sendable {
    private let state = Mutex(State())

    private struct State: Sendable {
        var close: (@Sendable () -> Void)?
    }

    func set(_ close: @escaping @Sendable () -> Void) {
        state.withLock { $0.close = close }
    }

    func call() {
        state.withLock { $0 }.close?()
    }
}
