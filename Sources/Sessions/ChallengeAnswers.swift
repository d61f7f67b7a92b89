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

    /// Keeps what an app has answered to a challenge that one of its tasks met.
    ///
    /// - Parameter leafDigest: of the certificate that the server has shown, as ``OriginAnswer/trustedCertificates`` has them.
    package mutating func keep(
        _ answer: MessageAnswer, to challenge: Challenge, leafDigest: String?, of task: TaskID
    ) throws(Problem) {
        switch (answer.disposition, challenge.method) {
        case (.useCredential, .basic), (.useCredential, .digest):
            guard let credential = answer.credential else {
                throw .invalid("A \(challenge.method.rawValue) challenge needs a credential.", pointer: "/credential")
            }
            update(challenge.origin) { $0.credential = credential }
        case (.useCredential, .clientCertificate):
            guard let certificate = answer.clientCertificate, certificate.hasPrefix("/") else {
                throw .invalid(
                    "A client certificate is the absolute path of a PEM file.", pointer: "/clientCertificate")
            }
            update(challenge.origin) {
                $0.clientCertificate = certificate
                $0.clientKey = answer.clientKey
            }
        case (.useCredential, .serverTrust):
            guard let leafDigest else { throw .conflict("The challenge holds no certificate to trust.") }
            update(challenge.origin) { $0.trustedCertificates.insert(leafDigest) }
        case (.performDefaultHandling, .basic), (.performDefaultHandling, .digest):
            decline([.basic, .digest], task)
        case (.performDefaultHandling, _), (.rejectProtectionSpace, _):
            decline([challenge.method], task)
        case (.continueLoading, _), (.cancel, _):
            throw .invalid("A challenge is not answered with \(answer.disposition.rawValue).", pointer: "/disposition")
        }
    }
}
