import Clock
import Foundation
import Glibc
import NightshiftAPI
import Synchronization

extension SystemProcessHost {
    /// The timeout for freezing. A process that waits for a disk freezes only after the disk has answered. If that
    /// takes longer, freezing has failed.
    private static let timeout: Duration = .seconds(2)

    package func suspend(_ process: ProcessIdentity) -> Bool {
        let begun = state.withLock { state -> Hosted? in
            guard !state.isShutDown, let hosted = state.processes[process] else { return nil }
            if hosted.isSuspended { return hosted }
            return state.freeze(process) ? hosted : nil
        }
        guard let begun else { return false }
        // This waits without holding the lock, because it takes time. The handling of ended processes must not wait for
        // it.
        let standsStill = begun.group.map { $0.waitUntilFrozen(within: Self.timeout) } ?? waitUntilStopped(process)
        return state.withLock { state in
            guard let hosted = state.processes[process], hosted.isSuspended else { return false }
            if !standsStill { state.thaw(process) }
            return standsStill
        }
    }

    package func resume(_ process: ProcessIdentity) -> Bool {
        state.withLock { state in
            guard state.processes[process] != nil else { return false }
            state.thaw(process)
            return true
        }
    }

    /// Waits until the process is stopped. SIGSTOP reaches every process of the group, and each stops before it
    /// executes another instruction of its program. The kernel notifies only a parent of this, so the state of the
    /// leader is checked repeatedly.
    private func waitUntilStopped(_ process: ProcessIdentity) -> Bool {
        var timeout = CheckTimeout(Self.timeout, first: .microseconds(100), longest: .milliseconds(10))
        while true {
            guard let statistics = ProcessStatistics(of: process.pid), statistics.startTime == process.startTime,
                !statistics.isZombie
            else { return false }
            if statistics.isStopped(as: process.pid) { return true }
            guard let pause = timeout.pause() else { return false }
            usleep(useconds_t(saturating: pause / .microseconds(1)))
        }
    }
}

extension SystemProcessHost.State {
    /// Begins to freeze a running process. Returns false if no guardian can run or the kernel refuses.
    mutating func freeze(_ process: ProcessIdentity) -> Bool {
        guard let hosted = processes[process], guardian.add(process, freezeFile: hosted.group?.freezeFile) else {
            return false
        }
        let hasBegun =
            if let group = hosted.group { group.freeze() } else { process.signalGroup(SIGSTOP) }
        if hasBegun {
            processes[process]?.isSuspended = true
        } else {
            guardian.remove(process)
        }
        return hasBegun
    }

    /// Thaws a process if it is frozen.
    mutating func thaw(_ process: ProcessIdentity) {
        guard let hosted = processes[process], hosted.isSuspended else { return }
        if let group = hosted.group { _ = group.thaw() } else { process.signalGroup(SIGCONT) }
        processes[process]?.isSuspended = false
        guardian.remove(process)
    }

    /// Stops watching a process.
    mutating func forget(_ process: ProcessIdentity) {
        guard let hosted = processes.removeValue(forKey: process) else { return }
        identities[hosted.token] = nil
        watcher.remove(hosted.pidfd)
    }
}
