import CNightshift
import Foundation
import Glibc
package import Mounts
package import NightshiftAPI
import Synchronization

/// Processes of this machine: started by fork and exec, watched through pidfds, suspended with their cgroups.
///
/// Its thread sleeps until a process ends. A host lives until ``shutdown()``; the processes outlive it.
package final class SystemProcessHost: ProcessHost {
    package let name: String
    package let exits: AsyncStream<(ProcessIdentity, ProcessEnd)>
    let continuation: AsyncStream<(ProcessIdentity, ProcessEnd)>.Continuation
    let bootID: String
    let groups: ControlGroups?
    let paths: ServicePaths
    let fileSystems: FileSystems
    let state: Mutex<State>

    /// How processes are suspended.
    package enum Suspension: Sendable, Hashable, CaseIterable {
        /// By a cgroup where there can be one, else by signals.
        case automatic
        /// By SIGSTOP and SIGCONT to the process group.
        case signals
    }

    /// A process that is watched.
    struct Hosted {
        let identity: ProcessIdentity
        /// Nil where signals have to suspend it.
        let group: ControlGroup?
        let pidfd: Int32
        let token: UInt64
        var isSuspended = false
    }

    /// A process whose program has not begun.
    struct Waiting {
        /// Closed, it ends the process.
        let gate: Int32
        let program: String
        var phase = Phase.atGate
        /// How it has ended while its program was to begin.
        var end: ProcessEnd?

        enum Phase {
            case atGate
            case beginning
            /// It is told that the program cannot be executed, and not also that the process has ended.
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
        /// Cgroups of processes that have ended, with others in them still, and their notices.
        var leftovers: [UInt64: (group: ControlGroup, notices: Int32)] = [:]
        var isShutDown = false
    }

    /// `paths` tells services apart; no two that run at once have the same.
    package init(
        paths: ServicePaths, bootID: String, suspension: Suspension = .automatic, fileSystems: FileSystems? = nil
    ) {
        self.bootID = bootID
        self.fileSystems = fileSystems ?? FileSystems(home: paths.state.path(percentEncoded: false))
        self.paths = paths
        switch suspension {
        case .signals:
            groups = nil
            name = "SIGSTOP to the process group, as was asked"
        case .automatic:
            ControlGroups.thawAll(home: paths.state.path(percentEncoded: false))
            do {
                let groups = try ControlGroups(home: paths.state.path(percentEncoded: false))
                self.groups = groups
                name = "cgroup v2 freezer below \(groups.path)"
            } catch {
                groups = nil
                name = "SIGSTOP to the process group, because \(error.message)"
            }
        }
        (exits, continuation) = AsyncStream.makeStream()
        let watcher = DescriptorWatcher()
        state = Mutex(
            State(watcher: watcher, guardian: Guardian(watcher: watcher), keepers: LogKeepers(watcher: watcher)))
        watcher.start { self.descriptorBecameReadable($0) }
    }

    /// The process that will thaw everything if this one dies; nil while nothing is frozen.
    package var guardian: Int32? { state.withLock { $0.guardian.pid } }

    /// The processes that keep the logs of apps.
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
        // Outside of the lock: what the thread does last may want it.
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
