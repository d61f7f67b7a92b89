import Foundation
package import NightshiftAPI
import Sessions
import Store

/// Challenges of servers, and the answers of apps.
extension TransferService {
    /// Adds the app's earlier answers to a request, as far as the exchange can use these answers.
    ///
    /// - Returns: the credentials and certificates that each server receives or may use, by ``Challenge/origin``.
    func addAnswers(to request: inout WireRequest, _ record: TaskRecord) -> [String: OriginAnswer] {
        request.handlesCookies = record.sendsRedirectCookies
        guard record.app != nil else { return [:] }
        // The library in the app decides how to use these cookies.
        request.notesCookies = true
        let kept = appSessions[answersOf: record.session]
        request.asksAbout = kept.asksAbout(record.id)
        if let answer = kept.byOrigin[record.origin] {
            request.credential = answer.credential ?? request.credential
            request.trustedCertificates = answer.trustedCertificates
            if let certificate = answer.clientCertificate {
                var tls = request.tls ?? TLSSettings()
                tls.clientCertificate = certificate
                tls.clientKey = answer.clientKey
                request.tls = tls
            }
        }
        request.answersElsewhere = kept.byOrigin
        if let proxy = request.proxy, let origin = Challenge.origin(ofProxy: proxy),
            let credential = kept.byOrigin[origin]?.credential
        {
            request.proxy = Self.proxy(proxy, credential)
        }
        var shown = kept.byOrigin
        // The exchange also sends the task's own credential.
        shown[record.origin, default: OriginAnswer()].credential = request.credential
        return shown
    }

    /// Returns the URL of a proxy with a name and password.
    private static func proxy(_ url: String, _ credential: Credential) -> String {
        let allowed = CharacterSet.alphanumerics
        let words = [credential.user, credential.password].map {
            $0.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
        }
        return ProxyAddress(url).url(userinfo: words.joined(separator: ":"))
    }

    /// Handles a server's challenge. The task waits for its app's answer, unless the app has already answered the
    /// challenge for another task.
    func challenged(_ id: TaskID, _ asked: Challenge) async {
        guard let transfer = active[id] else { return }
        var challenge = asked
        var kept = appSessions[answersOf: transfer.record.session]
        let known = kept.byOrigin[challenge.origin] ?? OriginAnswer()
        let shown = transfer.shown[challenge.origin] ?? OriginAnswer()
        // The app answered during this exchange, so the exchange starts again with that answer.
        guard !known.answers(challenge, leafDigest: challenge.leafDigest, besides: shown) else {
            return await tell(id) { $0.answeredMeanwhile($1, &$2) }
        }
        if challenge.asksForCredential, shown.credential != nil {
            challenge.previousFailureCount = kept.refused(id, origin: challenge.origin)
            appSessions[answersOf: transfer.record.session] = kept
        }
        let question = challenge
        await tell(id) { $0.asked(question, $1, &$2) }
    }

    /// Applies an app's answer to a question. The task continues with the answer, or ends.
    package func answer(
        _ app: AppID, _ identifier: String, _ answer: MessageAnswer
    ) async throws(Problem) {
        let session = SessionID(app: app, identifier: identifier)
        guard let message = try await ask({ try $0.message(answer.message, of: session) }) else {
            throw Self.noMessage(answer)
        }
        let id = message.task.id
        if answer.disposition == .cancel {
            appSessions.forgetAnswers([id], of: session)
            try await cancelAsked(id)
            return
        }
        switch message.kind {
        case .challenge:
            guard let challenge = message.challenge else { return }
            var kept = appSessions[answersOf: session]
            try kept.keep(answer, to: challenge, leafDigest: challenge.leafDigest, of: id)
            appSessions[answersOf: session] = kept
            try await transition(
                id, also: { transaction, _ in try transaction.deleteMessage(message.id) }, { _ in .answer })
        case .delayedRequest:
            try await begin(message, answer)
        case .resumed, .ended:
            throw .conflict("Message \(message.id) is not a question. Acknowledge it instead of answering it.")
        }
    }

    private static func noMessage(_ answer: MessageAnswer) -> Problem {
        .notFound("There is no message \(answer.message); it may have been answered already.")
    }

    private func cancelAsked(_ id: TaskID) async throws(Problem) {
        _ = try await cancel(id, producingResumeData: true)
    }

    /// Handles the app's answer for a task whose begin date has passed, so that the task can start.
    private func begin(_ message: StoredMessage, _ answer: MessageAnswer) async throws(Problem) {
        guard answer.disposition == .continueLoading || answer.disposition == .performDefaultHandling else {
            throw .invalid(
                "A delayed request cannot be answered with \(answer.disposition.rawValue).", pointer: "/disposition")
        }
        var replacement: TaskRecord?
        if let request = answer.request {
            let settings = try await ask { try $0.sessionSettings(message.task.session) } ?? SessionSettings()
            let old = message.task
            var merged = old.request.moved(to: request.url)
            merged.method = request.method ?? merged.method
            merged.body = request.body ?? merged.body
            merged.headers = request.headers ?? merged.headers
            merged.credential = request.credential ?? request.ownCredential ?? merged.credential
            merged.tls = request.tls ?? merged.tls
            replacement = try RequestRules.record(
                merged, session: old.session, settings: settings.forTask(of: old.origin, movedTo: request.url),
                now: now, pointer: "/request", copies: old, looksAtDestination: false)
        }
        let (before, after) = try await transition(
            message.task.id,
            also: { [replacement] transaction, record in
                try transaction.deleteMessage(message.id)
                record.clientData = answer.clientData ?? record.clientData
                guard let replacement else { return }
                record.replaceRequest(by: replacement.request)
                if record.origin != replacement.origin { try transaction.move(&record, to: replacement.origin) }
            },
            { $0.question == .delayedRequest ? .answer : nil })
        // The owner changed the URL while the service processed the answer. This change withdrew the question.
        guard before.question == .delayedRequest else { throw Self.noMessage(answer) }
        if after.upload == nil { abandonUpload(before) }
    }
}

extension Challenge {
    /// The SHA-256 of the server's own certificate, in the format of ``WireRequest/trustedCertificates``.
    fileprivate var leafDigest: String? {
        certificates?.first.flatMap { Data(base64Encoded: $0) }.flatMap { Verification.sha256($0) }
    }
}
