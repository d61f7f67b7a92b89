package import Apps
import Glibc
package import NightshiftAPI
import Synchronization
import TestSupport

/// A host of processes that do only what a test requires, for a service in virtual time.
///
/// A real process that sleeps represents each of them, because the service asks the kernel about processes that
/// connect. The host records the actions on processes. One host serves one service, and its ``successor(isDead:)`` has
/// the same processes.
package final class ScriptedProcessHost: ProcessHost {
    /// An action on a process.
    package enum Deed: Hashable, Sendable {
        case launched(Int32, LaunchPlan)
        case suspended(Int32)
        case resumed(Int32)
        case terminated(Int32)
        case ended(Int32, ProcessEnd)
    }

    private struct Entry {
        var process: ProcessIdentity
        var plan: LaunchPlan?
        var isSuspended = false
        /// Whether the process executes its program.
        var hasBegun: Bool
        /// Whether this host is the parent of the process, and so can read its exit status.
        var isChild: Bool
        var isWatched: Bool
        /// Whether the process has received SIGTERM and not acted on it yet.
        var isAskedToEnd = false
        var locks: [HeldLock] = []
    }

    private struct State {
        var entries: [Int32: Entry] = [:]
        var deeds: [Deed] = []
        var launchFailure: LaunchFailure?
        var ignoresKills = false
        var refusesSuspension = false
        var isShutDown = false
        /// The processes that ended with their service before they had executed their programs.
        var unbegun: Set<Int32> = []
    }

    package let exits: AsyncStream<(ProcessIdentity, ProcessEnd)>
    private let ended: AsyncStream<(ProcessIdentity, ProcessEnd)>.Continuation
    private let state: Mutex<State>
    /// Whether the service has died, so that it may no longer act.
    private let isDead: @Sendable () -> Bool

    package convenience init(isDead: @escaping @Sendable () -> Bool) {
        self.init(State(), isDead)
    }

    private init(_ start: sending State, _ isDead: @escaping @Sendable () -> Bool) {
        state = Mutex(start)
        self.isDead = isDead
        (exits, ended) = AsyncStream.makeStream()
    }

    /// Returns the host of the next service. No process of that host is frozen, and none is its child.
    package func successor(isDead: @escaping @Sendable () -> Bool) -> ScriptedProcessHost {
        var next = State()
        let (entries, deeds) = state.withLock { state in
            state.isShutDown = true
            defer { state.entries = [:] }
            return (state.entries, state.deeds)
        }
        next.deeds = deeds
        // A process that waits at the exec barrier of the service ends with the service.
        for (pid, entry) in entries where !entry.hasBegun {
            Self.remove(pid)
            next.unbegun.insert(pid)
            next.deeds.append(.ended(pid, .exited(127)))
        }
        next.entries = entries.filter(\.value.hasBegun).mapValues { entry in
            var entry = entry
            entry.isSuspended = false
            entry.isChild = false
            entry.isWatched = false
            return entry
        }
        return ScriptedProcessHost(next, isDead)
    }

    package var name: String { "scripted" }

    // MARK: - For tests

    /// Starts a process that the service has not launched.
    package func startByUser() throws(LaunchFailure) -> ProcessIdentity {
        let process = try Self.standIn()
        state.withLock {
            $0.entries[process.pid] = Entry(
                process: process, plan: nil, hasBegun: true, isChild: false, isWatched: false)
        }
        return process
    }

    /// Ends the process, either because it exits or by a signal from outside.
    package func end(_ pid: Int32, _ end: ProcessEnd) {
        let entry = state.withLock { state in
            guard let entry = state.entries.removeValue(forKey: pid) else { return nil as Entry? }
            state.deeds.append(.ended(pid, end))
            return entry
        }
        guard let entry else { return }
        Self.remove(pid)
        if entry.isWatched, !isDead() { ended.yield((entry.process, entry.isChild ? end : .unknown)) }
    }

    /// Ends all processes. Every test calls this at its end.
    package func endAll() {
        for pid in state.withLock({ $0.entries.keys.sorted() }) { end(pid, .signalled(SIGKILL)) }
    }

    /// The processes that execute their programs, ordered by ID.
    package var living: [Int32] { state.withLock { $0.entries.filter(\.value.hasBegun).keys.sorted() } }

    package func plan(_ pid: Int32) -> LaunchPlan? { state.withLock { $0.entries[pid]?.plan } }

    package func isSuspended(_ pid: Int32) -> Bool { state.withLock { $0.entries[pid]?.isSuspended ?? false } }

    package func isAskedToEnd(_ pid: Int32) -> Bool { state.withLock { $0.entries[pid]?.isAskedToEnd ?? false } }

    package var deeds: [Deed] { state.withLock { $0.deeds } }

    package var launches: [LaunchPlan] {
        deeds.compactMap { if case .launched(_, let plan) = $0 { plan } else { nil } }
    }

    /// Makes launches fail with this error from now on. With nil, launches succeed again.
    package func setLaunchFailure(_ failure: LaunchFailure?) {
        state.withLock { $0.launchFailure = failure }
    }

    /// Sets whether SIGKILL is delayed, as for a process that waits for a disk.
    package func setIgnoresKills(_ ignoresKills: Bool) {
        state.withLock { $0.ignoresKills = ignoresKills }
    }

    package func setRefusesSuspension(_ refuses: Bool) { state.withLock { $0.refusesSuspension = refuses } }

    /// Sets the locks that the process holds from now on, on files that other processes have open.
    package func setLocks(_ pid: Int32, _ locks: [HeldLock]) {
        state.withLock { $0.entries[pid]?.locks = locks }
    }

    // MARK: - ProcessHost

    package func hasEnded(_ process: ProcessIdentity) -> Bool {
        state.withLock { $0.entries[process.pid]?.process != process }
    }

    package func locks(_ process: ProcessIdentity) -> [HeldLock] {
        state.withLock { $0.entries[process.pid]?.locks ?? [] }
    }

    package func launch(_ plan: LaunchPlan) throws(LaunchFailure) -> ProcessIdentity {
        guard isInService else { throw LaunchFailure("The service is dead.") }
        if let failure = state.withLock({ $0.launchFailure }) { throw failure }
        let process = try Self.standIn()
        state.withLock { state in
            state.entries[process.pid] = Entry(
                process: process, plan: plan, hasBegun: false, isChild: true, isWatched: true)
            state.deeds.append(.launched(process.pid, plan))
        }
        return process
    }

    package func begin(_ process: ProcessIdentity) throws(LaunchFailure) {
        guard isInService else { return }
        state.withLock { $0.entries[process.pid]?.hasBegun = true }
    }

    package func hadBegun(_ process: ProcessIdentity, of app: AppID) -> Bool {
        !state.withLock { $0.unbegun.contains(process.pid) }
    }

    package func adopt(_ process: ProcessIdentity) -> Bool {
        guard isInService else { return false }
        return state.withLock { state in
            guard state.entries[process.pid]?.process == process else { return false }
            state.entries[process.pid]?.isWatched = true
            state.entries[process.pid]?.isSuspended = false
            return true
        }
    }

    package func keepLog(of app: AppID, log: String, limit: Int64) {}

    package func suspend(_ process: ProcessIdentity) -> Bool {
        guard !state.withLock(\.refusesSuspension) else { return false }
        return change(process) { entry, deeds in
            entry.isSuspended = true
            deeds.append(.suspended(process.pid))
        }
    }

    package func resume(_ process: ProcessIdentity) -> Bool {
        change(process) { entry, deeds in
            entry.isSuspended = false
            deeds.append(.resumed(process.pid))
        }
    }

    package func terminate(_ process: ProcessIdentity) {
        _ = change(process) { entry, deeds in
            entry.isSuspended = false
            entry.isAskedToEnd = true
            deeds.append(.terminated(process.pid))
        }
    }

    package func kill(_ process: ProcessIdentity) {
        guard isInService, !state.withLock({ $0.ignoresKills }) else { return }
        end(process.pid, .signalled(SIGKILL))
    }

    package func shutdown() {
        state.withLock { state in
            for pid in state.entries.keys { state.entries[pid]?.isSuspended = false }
            state.isShutDown = true
        }
        ended.finish()
    }

    private var isInService: Bool { !isDead() && !state.withLock { $0.isShutDown } }

    private func change(_ process: ProcessIdentity, _ body: (inout Entry, inout [Deed]) -> Void) -> Bool {
        guard isInService else { return false }
        return state.withLock { state in
            guard var entry = state.entries[process.pid], entry.process == process else { return false }
            body(&entry, &state.deeds)
            state.entries[process.pid] = entry
            return true
        }
    }

    // MARK: - Real processes

    /// Starts a process that leads its own session and sleeps. The process ends after a while if nothing else ends it.
    private static func standIn() throws(LaunchFailure) -> ProcessIdentity {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, Self.leadsSession)
        // The sleeping process gets /dev/null as output, so that it does not keep the output of this process open for
        // readers.
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0)
        posix_spawn_file_actions_adddup2(&actions, 0, 1)
        posix_spawn_file_actions_adddup2(&actions, 0, 2)
        actions.inheritNothingElse()
        var pid: pid_t = 0
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup("600"), nil]
        defer { for argument in arguments { free(argument) } }
        let code = posix_spawn(&pid, "/bin/sleep", &actions, &attributes, &arguments, nil)
        guard code == 0, let process = ProcessIdentity.of(pid, bootID: ProcessIdentity.currentBootID) else {
            throw LaunchFailure(reason: code, "No stand-in could be started.")
        }
        return process
    }

    /// The constant `POSIX_SPAWN_SETSID` of <spawn.h>, which shows it only with `_GNU_SOURCE`.
    private static let leadsSession: Int16 = 0x80

    private static func remove(_ pid: Int32) {
        Glibc.kill(pid, SIGKILL)
        var status: Int32 = 0
        while waitpid(pid, &status, 0) == -1, errno == EINTR {}
    }
}
