import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import Foundation
import NightshiftAPI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Starts the service where nobody answers on its socket.
///
/// With systemd's socket unit there is always an answer, and nothing is started here.
struct ServiceLauncher: Sendable {
    var paths: ServicePaths
    var search: DaemonSearch
    var environment: [String: String]

    /// Longer than any start with a large backlog takes; a service that is stuck is told of, not waited for.
    private static let patience: Duration = .seconds(10)
    /// How long a service may take to answer that another client has started at the same moment.
    private static let grace: Duration = .seconds(2)
    private static let largestLog = 8 << 20

    /// Returns once the socket accepts connections.
    func ensureRunning() async throws {
        switch ServiceSocket.state(of: socket) {
        case .accepting: return
        case .refused(let code): throw refusal(code)
        case .silent: break
        }
        let daemon = try search.requireDaemon()
        try prepareState()
        let log = paths.log.path(percentEncoded: false)
        let logSize = size(of: log)
        let process = try DetachedProcess(program: daemon, environment: environment, log: log)
        let clock = ContinuousClock()
        var deadline = clock.now + Self.patience
        var pause: Duration = .milliseconds(5)
        var hasEnded = false
        while clock.now < deadline {
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(100))
            switch ServiceSocket.state(of: socket) {
            case .accepting: return
            case .refused(let code): throw refusal(code)
            case .silent: break
            }
            if process.exitStatus != nil && !hasEnded {
                // It ends at once where another one was faster; that one then answers.
                hasEnded = true
                deadline = min(deadline, clock.now + Self.grace)
            }
        }
        throw CommandFailure.unreachable(explanation(hasEnded: hasEnded, log: log, from: logSize))
    }

    var socket: String { paths.socket.path(percentEncoded: false) }

    private func refusal(_ code: Int32) -> CommandFailure {
        if code == ENAMETOOLONG {
            return .unreachable("The socket's path is longer than the kernel allows (107 bytes): \(socket)")
        }
        return .unreachable("The service's socket \(socket) cannot be used: \(String(cString: strerror(code)))")
    }

    private func prepareState() throws {
        do {
            try FileManager.default.createDirectory(
                at: paths.state, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandFailure.unreachable(
                "The directory \(paths.state.path(percentEncoded: false)) could not be made: "
                    + error.localizedDescription)
        }
        let log = paths.log.path(percentEncoded: false)
        if size(of: log) > Self.largestLog { _ = rename(log, log + ".1") }
    }

    private func explanation(hasEnded: Bool, log: String, from start: Int) -> String {
        let reason =
            hasEnded ? "The service ended while it was starting." : "The service started, but does not answer."
        let handle = FileHandle(forReadingAtPath: log)
        try? handle?.seek(toOffset: UInt64(max(start, size(of: log) - 4_096)))
        let said = String(decoding: (try? handle?.readToEnd()) ?? Data(), as: UTF8.self)
        let lines = said.split(separator: "\n").suffix(10).map { "  " + TerminalText.escaped(String($0)) }
        guard !lines.isEmpty else { return reason + " Its log \(log) says nothing." }
        return reason + " Its log \(log) ends with:\n" + lines.joined(separator: "\n")
    }

    private func size(of path: String) -> Int {
        var information = stat()
        return stat(path, &information) == 0 ? Int(information.st_size) : 0
    }
}
