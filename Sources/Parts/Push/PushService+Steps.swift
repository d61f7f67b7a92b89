package import NightshiftAPI
import Runtime

/// The steps of the push service.
extension PushService {
    /// Applies an input to the states, decides, and executes the effects.
    ///
    /// - Parameter coversEarlier: see ``Part/step(_:coversEarlier:_:)``.
    /// - Returns: whether the changes are on disk.
    @discardableResult
    func settle(coversEarlier: Bool = false, _ input: (inout PushStates, Double) -> Void) async -> Bool {
        let isWritten = await tell(coversEarlier: coversEarlier) { states, now in
            states.trustsClock = trustsClock
            input(&states, now)
            for end in disconnections { states.pushes.noteDisconnected(end.why, end.time) }
            disconnections = []
        }
        await noteDisconnections()
        return isWritten
    }

    /// Performs a request, and returns when its changes are on disk. If they cannot be written, nothing has changed.
    func change<Value>(
        _ input: (inout PushStates, Double) throws(Problem) -> Value
    ) async throws(Problem) -> Value {
        let value = try await ask { (states, now) throws(Problem) in
            states.trustsClock = trustsClock
            return try input(&states, now)
        }
        await noteDisconnections()
        return value
    }

    /// Records connections that a step has ended.
    private func noteDisconnections() async {
        if part.isOpen, !disconnections.isEmpty { await settle { _, _ in } }
    }

    package func perform(_ app: AppID) async {
        // The current state is sent, because the notices of two changes could arrive in the wrong order.
        await environment.tell(app, pushes.notice(for: app) ?? PushNotice())
    }

    package func decided() { followStates() }

    package func written(_ changes: PushStates.Changes) {
        notify(of: changes.pushes)
        guard changes.unified.connection == unified.connection else { return }
        for request in changes.unified.requests { environment.distribution?.perform(request) }
    }
}
