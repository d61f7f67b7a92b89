import NightshiftAPI

/// The app's answers to servers, for one session: kept in memory only, as secrets are.
struct ChallengeAnswers {
    /// By ``Challenge/origin``.
    private(set) var byOrigin: [String: OriginAnswer] = [:]
    /// The challenges that a task does not ask about again, because the answer was to go on without a credential.
    private var declined: [TaskID: Set<Challenge.Method>] = [:]
    /// Credentials in a row that a task's server did not take.
    private var refusals: [TaskID: Int] = [:]

    func asksAbout(_ task: TaskID) -> Set<Challenge.Method> {
        Set(Challenge.Method.allCases).subtracting(declined[task] ?? [])
    }

    mutating func update(_ origin: String, _ change: (inout OriginAnswer) -> Void) {
        change(&byOrigin[origin, default: OriginAnswer()])
    }

    mutating func decline(_ methods: Set<Challenge.Method>, _ task: TaskID) {
        declined[task, default: []].formUnion(methods)
    }

    /// The server did not take a credential: it is not offered again. Returns how many that were for the task.
    mutating func refused(_ task: TaskID, origin: String) -> Int {
        byOrigin[origin]?.credential = nil
        refusals[task, default: 0] += 1
        return refusals[task] ?? 0
    }

    mutating func remove(_ task: TaskID) {
        declined[task] = nil
        refusals[task] = nil
    }
}

extension Challenge {
    /// The name of all proxies: a request has one at most.
    static let proxyOrigin = "proxy"

    /// Scheme, host and port, as tasks name their origin; or a proxy.
    var origin: String {
        isProxy
            ? Self.proxyOrigin
            : "\(scheme)://\(host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host):\(port)"
    }
}
