import CNightshift
import Clock
import Executors
import Glibc
import NightshiftAPI
import Synchronization

extension SystemProcessHost {
    package func hasEnded(_ process: ProcessIdentity) -> Bool {
        state.withLock { state in
            guard let hosted = state.processes[process] else { return !process.isAlive }
            var event = pollfd(fd: hosted.pidfd, events: Int16(POLLIN), revents: 0)
            return poll(&event, 1, 0) == 1
        }
    }

    /// Handles the end of a process, a guardian or a keeper, and cgroups that became empty. Runs on the watcher's
    /// thread.
    func descriptorBecameReadable(_ token: UInt64) {
        if Guardian.owns(token) {
            state.withLock { $0.guardian.childEnded(token: token) }
            return
        }
        if LogKeepers.owns(token) {
            state.withLock { $0.keepers.ended(token: token) }
            return
        }
        let ended = state.withLock { state -> (ProcessIdentity, ProcessEnd, ControlGroup?)? in
            guard let identity = state.identities[token], let hosted = state.processes[identity] else {
                if let unit = state.leftoverChanged(token) { remove(unit) }
                return nil
            }
            // Processes that this one has started may still be alive, and must not stay frozen. They are thawed before
            // the status of this process is read, because its pid cannot be reused until then.
            state.thaw(identity)
            let end = Self.readStatus(of: hosted.pidfd)
            state.forget(identity)
            close(hosted.pidfd)
            return (identity, end, hosted.group)
        }
        guard let (process, end, group) = ended else { return }
        guard let units, let unit = group?.unit else { return report(end, of: process, in: group) }
        // systemd is the parent of the process.
        unitQueue.add { self.report(Self.end(of: unit, units), of: process, in: group) }
    }

    /// Waits until systemd has noticed the end of a unit's program, and returns the end.
    private static func end(of unit: String, _ units: AppUnits) -> ProcessEnd {
        var timeout = CheckTimeout(.seconds(5), first: .milliseconds(1), longest: .milliseconds(200))
        while true {
            if let end = units.end(unit) { return end }
            guard let pause = timeout.pause() else { return .unknown }
            usleep(useconds_t(saturating: pause / .microseconds(1)))
        }
    }

    private func report(_ end: ProcessEnd, of process: ProcessIdentity, in group: ControlGroup?) {
        let (tells, unit) = state.withLock { state in
            (state.tells(end, of: process), group.flatMap { state.remove($0) })
        }
        if let unit { remove(unit) }
        if tells { continuation.yield((process, end)) }
    }

    /// Lets systemd forget a unit that has no processes.
    private func remove(_ unit: String) {
        guard let units else { return }
        unitQueue.add { units.remove(unit) }
    }

    private static func readStatus(of pidfd: Int32) -> ProcessEnd {
        var status: Int32 = 0
        guard nightshift_pidfd_wait(pidfd, &status, WNOHANG) > 0 else { return .unknown }
        let signal = status & 0x7f
        return signal == 0 ? .exited(status >> 8 & 0xff) : .signalled(signal)
    }
}

extension SystemProcessHost.State {
    /// Returns whether the end of a process is reported now. If not, ``begin(_:)`` reports it.
    fileprivate mutating func tells(_ end: ProcessEnd, of process: ProcessIdentity) -> Bool {
        switch waiting[process]?.phase {
        case nil: return true
        case .beginning:
            waiting[process]?.end = end
            return false
        case .atGate:
            if let waiting = waiting.removeValue(forKey: process) { close(waiting.gate) }
            return true
        case .failed:
            waiting[process] = nil
            return false
        }
    }

    /// Removes a cgroup now, or when the last process in it has ended. Returns the unit of a cgroup that is gone.
    fileprivate mutating func remove(_ group: ControlGroup) -> String? {
        guard !isShutDown else { return nil }
        let notices = group.openEvents()
        // An earlier process of the app left processes in this cgroup, and their end is already watched.
        let known = leftovers.filter { $0.value.group == group }.map(\.key)
        let isGone = group.removeIfEmpty()
        guard !isGone, known.isEmpty, notices >= 0 else {
            if notices >= 0 { close(notices) }
            if isGone { for token in known { forgetLeftover(token) } }
            return isGone ? group.unit : nil
        }
        lastToken += 1
        leftovers[lastToken] = (group, notices)
        _ = watcher.add(notices, token: lastToken, notices: true)
        return nil
    }

    /// Handles a notification of a cgroup. Returns the unit of a cgroup that is gone.
    fileprivate mutating func leftoverChanged(_ token: UInt64) -> String? {
        guard let leftover = leftovers[token] else { return nil }
        // A removed cgroup produces endless notifications, even if a new cgroup has the same name.
        guard !ControlGroup.expectNotice(leftover.notices) || leftover.group.removeIfEmpty() else { return nil }
        forgetLeftover(token)
        return leftover.group.unit
    }

    private mutating func forgetLeftover(_ token: UInt64) {
        guard let leftover = leftovers.removeValue(forKey: token) else { return }
        watcher.remove(leftover.notices)
        close(leftover.notices)
    }
}
