package import NightshiftAPI

/// The apps' answers to challenges of servers in one session. The answers are kept only in memory, because they are
/// secrets.
package struct ChallengeAnswers: Sendable {
    /// The answers of each origin. The key is ``Challenge/origin``.
    package private(set) var byOrigin: [String: OriginAnswer] = [:]
    /// The challenge methods for which a task does not ask again, because the app answered that it continues without a
    /// credential.
    private var declined: [TaskID: Set<Challenge.Method>] = [:]
    /// The number of consecutive credentials that a task's server rejected.
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

    /// Removes a credential that the server rejected. Returns how many credentials the server has rejected for the
    /// task.
    package mutating func refused(_ task: TaskID, origin: String) -> Int {
        byOrigin[origin]?.credential = nil
        refusals[task, default: 0] += 1
        return refusals[task] ?? 0
    }

    package mutating func remove(_ task: TaskID) {
        declined[task] = nil
        refusals[task] = nil
    }

    /// Stores an app's answer to a challenge of one of its tasks.
    ///
    /// - Parameter leafDigest: The digest of the server's certificate, in the form of
    ///   ``OriginAnswer/trustedCertificates``.
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
                    "The client certificate must be the absolute path of a PEM file.", pointer: "/clientCertificate")
            }
            update(challenge.origin) {
                $0.clientCertificate = certificate
                $0.clientKey = answer.clientKey
            }
        case (.useCredential, .serverTrust):
            guard let leafDigest else { throw .conflict("The challenge contains no certificate to trust.") }
            update(challenge.origin) { $0.trustedCertificates.insert(leafDigest) }
        case (.performDefaultHandling, .basic), (.performDefaultHandling, .digest):
            decline([.basic, .digest], task)
        case (.performDefaultHandling, _), (.rejectProtectionSpace, _):
            decline([challenge.method], task)
        case (.continueLoading, _), (.cancel, _):
            throw .invalid(
                "The disposition \(answer.disposition.rawValue) is not valid for a challenge.", pointer: "/disposition")
        }
    }
}
