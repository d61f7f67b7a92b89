import Synchronization

/// The background sessions of this process, one for each identifier.
final class SessionRegistry: Sendable {
    private let sessions = Mutex<[String: SessionCore]>([:])

    /// Returns the session with this identifier, and whether it was created by `make`.
    func session(_ identifier: String, orMake make: () -> SessionCore) -> (core: SessionCore, isNew: Bool) {
        sessions.withLock { sessions in
            if let core = sessions[identifier] { return (core, false) }
            let core = make()
            sessions[identifier] = core
            return (core, true)
        }
    }

    func session(_ identifier: String) -> SessionCore? {
        sessions.withLock { $0[identifier] }
    }

    func remove(_ core: SessionCore) {
        sessions.withLock { sessions in
            if sessions[core.identifier] === core { sessions[core.identifier] = nil }
        }
    }

    /// Notifies all sessions that the service can be reached, for the first time or again. Sessions that wait for the
    /// service continue.
    func onReconnect() {
        for core in sessions.withLock({ Array($0.values) }) { core.onReconnect() }
    }

    /// Abandons all sessions without notifying their delegates or the service.
    func abandonAll() {
        let cores = sessions.withLock { sessions in
            defer { sessions = [:] }
            return Array(sessions.values)
        }
        for core in cores { core.abandon() }
    }

    /// Sends unsent tasks to the service. These are tasks that were never resumed, and resumed tasks that could not be
    /// sent because the service was unreachable.
    func handOverAll(timeout: Duration) {
        let deadline = ContinuousClock.now + timeout
        for core in sessions.withLock({ Array($0.values) }) { core.handOver(until: deadline) }
    }
}
