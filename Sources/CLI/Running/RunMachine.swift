#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Decides over a program that is run as background work, from its gate to its end.
///
/// At the gate until the service has it, then running, then ended. What comes behind the end is nothing to it.
struct RunMachine {
    /// Whether the program is a task of an app, whose processes the service does not ask one by one.
    let isInApp: Bool
    let name: String
    private var phase = Phase.atGate
    /// Whether it was told that its time is nearly over.
    private var isExpiring = false

    private enum Phase {
        case atGate
        case running
        case ended
    }

    enum Action: Hashable {
        case begin
        case abandon
        case signal(Int32)
        case stopAlong(Int32)
        case print(String)
        case finish(RunEnd)
    }

    init(name: String, isInApp: Bool) {
        self.name = name
        self.isInApp = isInApp
    }

    // MARK: - The service

    mutating func heard(_ event: ProcessChannel.Event) -> [Action] {
        switch event {
        case .granted:
            guard phase == .atGate else { return [] }
            phase = .running
            return [.begin]
        case .refused(let reason):
            switch phase {
            case .atGate: return refuse(reason)
            case .running: return [.print("\(name) continues without the service, which has refused it: \(reason)")]
            case .ended: return []
            }
        case .expiring:
            guard phase == .running, !isExpiring else { return [] }
            isExpiring = true
            let notice = Action.print("\(name): The background time is nearly over. The program is asked to end.")
            return isInApp ? [notice, .signal(SIGTERM)] : [notice]
        }
    }

    /// The service has not said anything for too long.
    mutating func patienceIsOver() -> [Action] {
        phase == .atGate ? refuse("The service does not answer.") : []
    }

    private mutating func refuse(_ reason: String) -> [Action] {
        phase = .ended
        return [.abandon, .print("\(name) was not started: \(reason)"), .finish(.refused(reason))]
    }

    // MARK: - The program

    mutating func heard(_ event: GatedProcess.Event) -> [Action] {
        switch (event, phase) {
        case (_, .ended): return []
        // Any other stop is the service's, which ends it too.
        case (.stopped(let number), _): return number == SIGSTOP ? [] : [.stopAlong(number)]
        case (.ended(let end), _):
            phase = .ended
            switch end {
            case .exited(let status): return [.finish(.exited(status))]
            case .signalled(let number):
                guard isExpiring, number == SIGTERM || number == SIGKILL else { return [.finish(.signalled(number))] }
                return [
                    .print("\(name): The background time was over. The service has ended the program."),
                    .finish(.overdue(number)),
                ]
            }
        }
    }

    // MARK: - The user

    /// A signal to this program.
    mutating func received(_ number: Int32) -> [Action] {
        switch phase {
        case .atGate:
            phase = .ended
            return [.abandon, .finish(.signalled(number))]
        case .running: return [.signal(number)]
        case .ended: return []
        }
    }
}
