package import NightshiftAPI

/// What apps have answered to servers, for one session: kept in memory only, as secrets are.
package struct ChallengeAnswers: Sendable {
    /// By ``Challenge/origin``.
    package private(set) var byOrigin: [String: OriginAnswer] = [:]
    /// What a task does not want to be asked again, because the answer was to go on without.
    private var declined: [TaskID: Set<Challenge.Method>] = [:]
    /// Credentials in a row that a task's server did not take.
    private var refusals: [TaskID: Int] = [:]

    package init() {}

    package func asksAbout(_ task: TaskID) -> Set<Challenge.Method> {
        Set(Challenge.Method.allCases).subtracting(declined[task] ?? [])
    }

    package mutating func update(_ origin: String, _ change: (inout OriginAnswer) -> Void) {
        change(&byOrigin[origin, default: OriginAnswer()])
    }

    package mutating func decline(_ methods: Set<Challenge.Method>, _ task: TaskID) {
        declined[task, default: []].formUnion(methods)
    }

    /// The server did not take a credential: it is not offered again. Returns how many that were for the task.
    package mutating func refused(_ task: TaskID, origin: String) -> Int {
        byOrigin[origin]?.credential = nil
        refusals[task, default: 0] += 1
        return refusals[task] ?? 0
    }

    package mutating func remove(_ task: TaskID) {
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
