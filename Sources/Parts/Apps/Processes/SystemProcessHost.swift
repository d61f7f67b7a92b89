import CNightshift
import Executors
import Foundation
import Glibc
package import Mounts
package import NightshiftAPI
import Synchronization

/// The processes of this machine. They are started by fork and exec, watched through pidfds, and suspended with their
/// cgroups.
///
/// The host's thread sleeps until a process ends. The host works until ``shutdown()``. The processes may continue to
/// run after that.
package final class SystemProcessHost: ProcessHost {
    package let name: String
    package let exits: AsyncStream<(ProcessIdentity, ProcessEnd)>
    let continuation: AsyncStream<(ProcessIdentity, ProcessEnd)>.Continuation
    let bootID: String
    let groups: ControlGroups?
    let units: AppUnits?
    let home: String
    /// The queue for waiting until systemd has noticed the end of a program.
    let unitQueue = WorkQueue()
    let paths: ServicePaths
    let fileSystems: FileSystems
    let state: Mutex<State>

    /// The way in which processes are suspended.
    package enum Suspension: Sendable, Hashable, CaseIterable {
        /// Suspends with a cgroup if possible, otherwise with signals.
        case automatic
        /// Suspends with SIGSTOP and SIGCONT to the process group.
        case signals
    }

    /// A watched process.
    struct Hosted {
        let identity: ProcessIdentity
        /// The cgroup of the process; nil if it is suspended by signals.
        let group: ControlGroup?
        let pidfd: Int32
        let token: UInt64
        var isSuspended = false
    }

    /// A process that has not executed its program yet.
    struct Waiting {
        /// The descriptor of the exec barrier. Closing it ends the process.
        let gate: Int32
        let program: String
        var phase = Phase.atGate
        /// The end of the process, if it ended before the execution of its program was confirmed.
        var end: ProcessEnd?

        enum Phase {
            case atGate
            case beginning
            /// The execution failed. The caller of ``begin(_:)`` gets an error, so the end of the process is not
            /// reported separately.
            case failed
        }
    }

    struct State {
        let watcher: DescriptorWatcher
        var guardian: Guardian
        var keepers: LogKeepers
        var processes: [ProcessIdentity: Hosted] = [:]
        var identities: [UInt64: ProcessIdentity] = [:]
        var waiting: [ProcessIdentity: Waiting] = [:]
        var lastToken: UInt64 = 0
        /// The cgroups of ended processes that still contain other processes, with their notification descriptors.
        var leftovers: [UInt64: (group: ControlGroup, notices: Int32)] = [:]
        var isShutDown = false
    }

    /// Creates a host. `paths` identifies the service. Two services that run at the same time must have different
    /// paths. With `units`, apps run in units of systemd.
    package init(
        paths: ServicePaths, bootID: String, suspension: Suspension = .automatic, fileSystems: FileSystems? = nil,
        units: AppUnits? = nil
    ) {
        self.bootID = bootID
        self.fileSystems = fileSystems ?? FileSystems(home: paths.state.path(percentEncoded: false))
        self.paths = paths
        home = paths.state.path(percentEncoded: false)
        switch suspension {
        case .signals:
            groups = nil
            name = "SIGSTOP to the process group, as configured"
        case .automatic:
            ControlGroups.thawAll(home: paths.state.path(percentEncoded: false))
            do {
                let groups = try ControlGroups(home: paths.state.path(percentEncoded: false))
                self.groups = groups
                name =
                    "cgroup v2 freezer "
                    + (units == nil ? "below \(groups.path)" : "of units of systemd, \(AppUnits.prefix)*.service")
            } catch {
                groups = nil
                name = "SIGSTOP to the process group, because \(error.message)"
            }
        }
        let units = groups == nil ? nil : units
        self.units = units
        (exits, continuation) = AsyncStream.makeStream()
        let watcher = DescriptorWatcher()
        let keeperStarted: @Sendable (pid_t) -> Void = { [unitQueue, home] process in
            // In the service's own unit, a keeper would be left over when the service restarts.
            if let units { unitQueue.add { units.gather(AppUnits.logScope(home: home), process) } }
        }
        state = Mutex(
            State(
                watcher: watcher, guardian: Guardian(watcher: watcher),
                keepers: LogKeepers(watcher: watcher, started: keeperStarted)))
        watcher.start { self.descriptorBecameReadable($0) }
        if let units {
            // The programs of these units ended while no service was running.
            let pattern = AppUnits.pattern(home: home)
            unitQueue.add { for name in units.ended(pattern) { units.remove(name) } }
        }
    }

    /// The pid of the guardian, which thaws all frozen processes if the service dies; nil while no process is frozen.
    package var guardian: Int32? { state.withLock { $0.guardian.pid } }

    /// The pids of the log keepers.
    package var keepers: [Int32] { state.withLock { $0.keepers.processes } }

    package func terminate(_ process: ProcessIdentity) {
        state.withLock { state in
            guard state.processes[process] != nil else { return }
            state.thaw(process)
            process.signalGroup(SIGTERM)
        }
    }

    package func kill(_ process: ProcessIdentity) {
        state.withLock { state in
            guard let hosted = state.processes[process] else { return }
            hosted.group?.kill()
            process.signalGroup(SIGKILL)
        }
    }

    package func shutdown() {
        let watcher = state.withLock { state in
            state.isShutDown = true
            for waiting in state.waiting.values where waiting.phase == .atGate { close(waiting.gate) }
            state.waiting = state.waiting.filter { $0.value.phase == .beginning }
            for process in state.processes.keys { state.thaw(process) }
            state.guardian.shutdown()
            state.keepers.shutdown()
            return state.watcher
        }
        // This is called without holding the lock, because the thread may still need the lock.
        watcher.stop()
        state.withLock { state in
            for hosted in state.processes.values { close(hosted.pidfd) }
            for leftover in state.leftovers.values { close(leftover.notices) }
            state.processes = [:]
            state.identities = [:]
            state.leftovers = [:]
        }
        groups?.removeEmpty()
        continuation.finish()
    }
}
