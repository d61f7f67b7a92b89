#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A state machine that decides how a program that is run as background work starts and ends.
///
/// The process waits until the service has accepted the task. Then the program runs until it ends. The machine ignores
/// later inputs.
struct RunMachine {
    /// Whether the program is a background task of an app. If so, the service does not signal its process separately.
    let isInApp: Bool
    let name: String
    private var phase = Phase.atGate
    /// Whether the service has announced the end of the program's time.
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

    /// Handles the timeout for the first response of the service.
    mutating func timeoutIsOver() -> [Action] {
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
        // SIGSTOP comes from the service, which also continues the process.
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

    /// Handles a signal that this program received.
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
