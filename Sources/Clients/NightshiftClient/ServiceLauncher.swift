import CDispatch  // This import is needed for stat(2), which the compiler attributes to this module.
import Foundation
package import NightshiftAPI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A launcher that starts the service if no process accepts connections on its socket.
///
/// If the systemd user manager knows the service's unit, the launcher starts the unit. Otherwise it starts a detached
/// process. With systemd's socket unit, connections are always accepted, so this launcher starts nothing.
package struct ServiceLauncher: Sendable {
    package var paths: ServicePaths
    package var search: DaemonSearch
    /// The environment with which the service is started. The service outlives this process.
    package var environment: [String: String]

    /// The time in which a started service must accept connections. Even a start with a large backlog takes less time.
    /// After the timeout, the launcher reports an error.
    private static let timeout: Duration = .seconds(10)
    /// The time in which another service must accept connections after the one started here has exited.
    private static let grace: Duration = .seconds(2)
    /// The waitpid(2) status of a service that exited because another service has the lock.
    private static let foundAnother: Int32 = 4 << 8
    /// The waitpid(2) status of a `systemctl` that does not know the unit (systemctl(1), "Exit status").
    private static let unknownUnit: Int32 = 5 << 8
    private static let largestLog = 8 << 20

    package init(paths: ServicePaths, search: DaemonSearch, environment: [String: String]) {
        self.paths = paths
        self.search = search
        self.environment = environment
    }

    /// Starts the service if necessary, and returns once its socket accepts connections.
    ///
    /// - Throws: ``ServiceUnusable`` if the service cannot be started or reached.
    package func ensureRunning() async throws {
        var start: Start?
        while let pause = try step(&start) { try await Task.sleep(for: pause) }
    }

    /// Does the same as ``ensureRunning()``, but blocks the thread, for a few seconds at most.
    package func waitUntilRunning() throws {
        var start: Start?
        while let pause = try step(&start) {
            Thread.sleep(forTimeInterval: Double(pause.components.attoseconds) / 1e18)
        }
    }

    /// Returns whether the service accepts connections. Throws ``ServiceUnusable`` if the socket belongs to another
    /// user, if its path is too long, or if a service is running but cannot be reached.
    package func isRunning() throws -> Bool {
        switch ServiceSocket.state(of: socket) {
        case .accepting: return true
        case .refused(ENAMETOOLONG): throw refusal(ENAMETOOLONG)
        case .silent, .refused:
            guard let holder = location.holder else { return false }
            throw ServiceUnusable(message: Self.unreachable(holder, at: socket))
        case .foreign(let objection): throw ServiceUnusable(message: objection)
        }
    }

    /// The start of a service that does not accept connections yet.
    private struct Start {
        /// The service, or the `systemctl` that starts its unit.
        var process: DetachedProcess
        /// Whether the process is `systemctl`.
        var isUnit = false
        var deadline: ContinuousClock.Instant
        /// The pause before the next check. It is always shorter than a second.
        var pause: Duration = .milliseconds(5)
        var hasEnded = false
        var log: String
        /// The size of the log before this service was started.
        var logSize: Int
    }

    /// Returns the pause before the next step; nil once the socket accepts connections.
    private func step(_ start: inout Start?) throws -> Duration? {
        // The time is read before the check. Even if this program is scheduled late, the last check therefore happens
        // after the deadline.
        let now = ContinuousClock.now
        switch ServiceSocket.state(of: socket) {
        case .accepting: return nil
        case .refused(let code): throw refusal(code)
        case .foreign(let objection): throw ServiceUnusable(message: objection)
        case .silent: break
        }
        guard var current = start else {
            let new = try beginUnit() ?? begin()
            start = new
            return new.pause
        }
        if current.isUnit, let status = current.process.exitStatus, status != 0, !current.hasEnded {
            // If systemd does not answer, or if it does not know the unit, the service starts without it.
            if status != Self.unknownUnit, let message = unitFailure() { throw ServiceUnusable(message: message) }
            let new = try begin()
            start = new
            return new.pause
        }
        if let status = current.process.exitStatus, !current.hasEnded {
            current.hasEnded = true
            // The service exits immediately if another service was faster, or if another one still has the lock but has
            // lost its socket. The other service will then accept connections as soon as it can.
            current.deadline =
                status == Self.foundAnother ? now + Self.timeout : min(current.deadline, now + Self.grace)
        }
        guard now < current.deadline else {
            throw ServiceUnusable(
                message: explanation(hasEnded: current.hasEnded, log: current.log, from: current.logSize))
        }
        current.pause = min(current.pause * 2, .milliseconds(100))
        start = current
        return current.pause
    }

    /// The user manager; nil if it does not manage this home.
    package var userManager: UserManager? {
        guard (environment["NIGHTSHIFT_HOME"] ?? "").isEmpty else { return nil }
        let manager = UserManager(environment: environment)
        return manager.isRunning ? manager : nil
    }

    /// Asks systemd to start the unit. Returns nil without a user manager. The command ends when the service is ready
    /// or has failed.
    private func beginUnit() throws -> Start? {
        guard let program = userManager?.program else { return nil }
        return Start(
            process: try DetachedProcess(
                program: program,
                arguments: ["--user", "--quiet", "--no-ask-password", "start", UserManager.service],
                environment: environment, log: "/dev/null"),
            isUnit: true, deadline: .now + Self.timeout, log: "", logSize: 0)
    }

    /// Returns a message about the service's unit if it failed; nil if systemd does not answer, or if the unit did not
    /// fail.
    package func unitFailure() -> String? {
        guard let unit = userManager?.state(of: UserManager.service), unit.hasFailed || !unit.isLoaded else {
            return nil
        }
        guard unit.isLoaded else {
            return "systemd cannot start \(UserManager.service): the unit is \(unit.loadState)."
        }
        let reason = search.daemon.flatMap { ServiceCheck.failure(of: $0, environment: environment) }
        return
            "systemd could not start the service (\(UserManager.service): \(unit.result), status \(unit.exitStatus)). "
            + (reason ?? "See: journalctl --user -u \(UserManager.service)")
    }

    private func begin() throws -> Start {
        let daemon = try search.requireDaemon()
        try prepareState()
        let log = paths.log.path(percentEncoded: false)
        let logSize = size(of: log)
        return Start(
            process: try DetachedProcess(
                program: daemon, environment: environment.merging([ServicePaths.startedByClient: "1"]) { $1 }, log: log),
            deadline: .now + Self.timeout, log: log, logSize: logSize)
    }

    package var location: ServiceLocation { ServiceLocation(paths: paths) }

    package var socket: String { location.socket }

    /// Returns a message about a service that holds the lock but does not listen.
    package static func unreachable(_ holder: LockRecord, at socket: String) -> String {
        "The service runs as process \(holder.processID), but does not listen on its socket \(socket). "
            + "It may be starting or stopping. If this does not change, end it with 'kill \(holder.processID)' "
            + "and start it again."
    }

    private func refusal(_ code: Int32) -> ServiceUnusable {
        if code == ENAMETOOLONG {
            return ServiceUnusable(
                message: "The socket path is longer than the kernel allows (\(ServiceLocation.longestPath) bytes): "
                    + "\(socket). Set XDG_RUNTIME_DIR or NIGHTSHIFT_HOME to a shorter directory.")
        }
        return ServiceUnusable(
            message: "The socket \(socket) of the service cannot be used: \(String(cString: strerror(code)))")
    }

    private func prepareState() throws {
        do {
            try FileManager.default.createDirectory(
                at: paths.state, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw ServiceUnusable(
                message: "The directory \(paths.state.path(percentEncoded: false)) could not be created: "
                    + error.systemReason)
        }
        let log = paths.log.path(percentEncoded: false)
        if size(of: log) > Self.largestLog { _ = rename(log, log + ".1") }
    }

    private func explanation(hasEnded: Bool, log: String, from start: Int) -> String {
        guard !log.isEmpty else {
            return "systemd started \(UserManager.service), but the service does not respond. "
                + "See: systemctl --user status \(UserManager.service)"
        }
        let reason =
            hasEnded ? "The service exited while it was starting." : "The service started, but does not respond."
        let handle = FileHandle(forReadingAtPath: log)
        try? handle?.seek(toOffset: UInt64(max(start, size(of: log) - 4_096)))
        let said = String(decoding: (try? handle?.readToEnd()) ?? Data(), as: UTF8.self)
        let lines = said.split(separator: "\n").suffix(10).map { "  " + $0 }
        guard !lines.isEmpty else { return reason + " Its log \(log) is empty." }
        return reason + " Its log \(log) ends with:\n" + lines.joined(separator: "\n")
    }

    private func size(of path: String) -> Int {
        var information = stat()
        return stat(path, &information) == 0 ? Int(information.st_size) : 0
    }
}
