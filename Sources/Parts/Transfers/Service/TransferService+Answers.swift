import Foundation
package import NightshiftAPI
import Sessions
import Store

/// Challenges of servers, and the answers of apps.
extension TransferService {
    /// Handles a server's challenge. The task waits for its app's answer, unless the app has already answered the
    /// challenge for another task.
    func challenged(_ transfer: ActiveTransfer, _ asked: Challenge) async {
        let id = transfer.record.id
        var challenge = asked
        var kept = appSessions[answersOf: transfer.record.session]
        let known = kept.byOrigin[challenge.origin] ?? OriginAnswer()
        let shown = transfer.shown[challenge.origin] ?? OriginAnswer()
        // The app answered during this exchange, so the exchange starts again with that answer.
        guard !known.answers(challenge, leafDigest: challenge.leafDigest, besides: shown) else {
            return await send(id) { $0.answeredMeanwhile($1, &$2) }
        }
        if challenge.asksForCredential, shown.credential != nil {
            challenge.previousFailureCount = kept.refused(id, origin: challenge.origin)
            appSessions[answersOf: transfer.record.session] = kept
        }
        let question = challenge
        await send(id) { $0.asked(question, $1, &$2) }
    }

    /// Applies an app's answer to a question. The task continues with the answer, or ends.
    package func answer(
        _ app: AppID, _ identifier: String, _ answer: MessageAnswer
    ) async throws(Problem) {
        let session = SessionID(app: app, identifier: identifier)
        guard let message = try await store.ask({ try $0.message(answer.message, of: session) }) else {
            throw Self.noMessage(answer)
        }
        let id = message.task.id
        if answer.disposition == .cancel {
            appSessions.forgetAnswers([id], of: session)
            try await perform(.cancel, id, producingResumeData: true)
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

    /// Handles the app's answer for a task whose begin date has passed, so that the task can start.
    private func begin(_ message: StoredMessage, _ answer: MessageAnswer) async throws(Problem) {
        guard answer.disposition == .continueLoading || answer.disposition == .performDefaultHandling else {
            throw .invalid(
                "A delayed request cannot be answered with \(answer.disposition.rawValue).", pointer: "/disposition")
        }
        var replacement: TaskRecord?
        if let request = answer.request {
            let settings = try await store.ask { try $0.sessionSettings(message.task.session) } ?? SessionSettings()
            replacement = try message.task.replaced(by: request, settings, now)
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
