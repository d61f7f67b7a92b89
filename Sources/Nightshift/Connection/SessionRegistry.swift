import Synchronization

/// The background sessions of this process, each once.
final class SessionRegistry: Sendable {
    private let sessions = Mutex<[String: SessionCore]>([:])

    /// The session that `identifier` names, and whether `make` was asked for it.
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

    /// The service can be reached (again): sessions that wait for it do so no longer.
    func serviceIsBack() {
        for core in sessions.withLock({ Array($0.values) }) { core.serviceIsBack() }
    }

    /// Ends them without a word to anybody.
    func abandonAll() {
        let cores = sessions.withLock { sessions in
            defer { sessions = [:] }
            return Array(sessions.values)
        }
        for core in cores { core.abandon() }
    }

    /// Gives the service what it has not been told yet: tasks that were never resumed, and resumed ones that it could not be
    /// reached for.
    func handOverAll(patience: Duration) {
        let deadline = ContinuousClock.now + patience
        for core in sessions.withLock({ Array($0.values) }) { core.handOver(until: deadline) }
    }
}
