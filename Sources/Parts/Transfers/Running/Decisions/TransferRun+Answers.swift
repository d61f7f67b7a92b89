package import NightshiftAPI
import Store

/// The end of an upload that its server has answered.
package struct UploadConclusion: Hashable, Sendable {
    /// The body of the response.
    package var body: AnswerBody
    /// The reason why the task fails although the server has answered.
    package var failure: TransferFailure?
    /// The entries that are not yet in the journal.
    package var entries: [JournalEntry]
}

/// The steps after the server's last response to an upload.
extension TransferRun {
    /// Handles the end of an upload request.
    mutating func uploadEnded(
        _ end: UploadEnd, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        let acknowledged = end.resource?.offset ?? 0
        var restart: String?
        if case .startAgain(let reason)? = end.verdict { restart = reason }
        uploadCame(
            to: end.resource, restart: restart,
            sent: end.verdict == .finished ? max(end.handedOver, acknowledged) : acknowledged, context.now)
        let point = end.exchange.placeOfFailure
        switch (end.exchange.outcome, end.verdict) {
        case (.challenged(let challenge), _): return questioned(challenge)
        case (.cancelled, _) where stopping != nil || end.verdict == nil: return interrupted(context, &hosts)
        case (_, _) where end.change != nil:
            return end.change.map { uploadFailed($0, context, &hosts) } ?? []
        case (.failed(let failure), nil): return troubled(failure, at: point, context, &hosts)
        case (_, nil):
            let silence = TransferFailure(.protocolError, "The server sent no response.")
            return troubled(silence, at: point, context, &hosts)
        case (_, .finished?):
            guard let head = end.exchange.head, let answer = end.answer else { return [] }
            return uploadAnswered(head, answer, context, &hosts)
        case (_, .proceed?), (_, .askAgain?), (_, .startAgain?):
            let othersMayStart = hosts.answered(context.way, began: startedAt)
            return (othersMayStart ? [.admitOthers] : []) + uploadGoesOn(isQueried: end.isQuery, context, &hosts)
        case (_, .retryLater(let failure, let after)?):
            return troubled(failure, after: after, at: point, context, &hosts)
        case (_, .doubt(let failure)?): return troubled(failure, context, &hosts)
        case (_, .fail(let failure)?): return uploadFailed(failure, context, &hosts)
        }
    }

    /// Ends the task after the server's response. If the response reports a temporary error and the task requests
    /// retries, the task waits instead.
    package mutating func uploadAnswered(
        _ head: ResponseHead, _ answer: UploadAnswer, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        let request = record.request
        let words =
            head.status == 401
            ? HTTPStatus.loginExplanation(hasLogin: request.hasLogin)
            : "The server answered \(HTTPStatus.name(head.status))."
        let failure = TransferFailure(.httpStatus, words, status: head.status)
        let policy = ResponsePolicy(
            retry: request.retryPolicy ?? .never, failsOnHTTPError: request.failsOnHTTPError ?? false)
        let meaning = ResponseMeaning(status: head.status, isPart: false, asked: .answer, policy: policy)
        if meaning == .passing {
            let after = head.headers.first("Retry-After").flatMap(RetryAfter.init(field:))
            let passing = TransferFailure(.serverUnavailable, failure.message, status: head.status)
            return troubled(passing, after: after, at: FailurePoint(head), context, &hosts)
        }
        let othersMayStart = hosts.answered(context.way, began: startedAt)
        record.response = ResponseSummary(head)
        record.currentURL = head.url == record.request.url ? nil : head.url
        record.startedAt = record.startedAt ?? context.now.wallSeconds
        record.upload = nil
        let conclusion = UploadConclusion(
            body: answer.body, failure: meaning == .refused ? failure : answer.failure, entries: entries)
        return (othersMayStart ? [.admitOthers] : []) + conclude(conclusion, context.now)
    }

    /// Continues after storing the body.
    ///
    /// - Parameter path: the path of the response's body; nil after a failure.
    package mutating func bodyKept(_ path: String?, _ context: RunContext) -> [TransferAction] {
        guard case .keepingBody(let conclusion) = phase else {
            assertionFailure("The response to task \(record.id) was stored, but its run is in the phase \(phase).")
            return []
        }
        guard let path else {
            guard !context.isServiceStopping else {
                entries = []
                phase = .released
                return [.release]
            }
            // The server has the complete upload, and a failure now would make the service send the upload again. The
            // service therefore tries to store the response until that works.
            phase = .pausing(conclusion)
            return [.concludeLater]
        }
        return end(conclusion, file: path, context.now)
    }

    /// Tries again to commit the end, after a pause.
    package mutating func concludeAgain(_ context: RunContext) -> [TransferAction] {
        guard case .pausing(let conclusion) = phase else {
            assertionFailure("The service tried again to end task \(record.id), but its run is in the phase \(phase).")
            return []
        }
        return conclude(conclusion, context.now)
    }

    /// Stores the response's body, if the response has a body, and ends the task.
    private mutating func conclude(_ conclusion: UploadConclusion, _ now: ClockReading) -> [TransferAction] {
        guard conclusion.body.count > 0 else { return end(conclusion, file: nil, now) }
        phase = .keepingBody(conclusion)
        return [.keepBody(conclusion.body)]
    }

    private mutating func end(
        _ conclusion: UploadConclusion, file: String?, _ now: ClockReading
    ) -> [TransferAction] {
        recordBeforeEnd = record
        record.received = conclusion.body.count
        entries = conclusion.entries
        if let failure = conclusion.failure {
            entries += apply(.fail(failure, file: file, resumeData: nil), now)
        } else {
            entries += apply(.finish(nil), now)
            entries += apply(.complete(file: file, verified: []), now)
        }
        phase = .concluding(conclusion)
        return flush()
    }

    /// Handles the result of committing the end of an upload.
    mutating func concluded(
        _ isSaved: Bool, _ conclusion: UploadConclusion, _ context: RunContext
    ) -> [TransferAction] {
        guard !isSaved else {
            phase = .released
            return [.removeCopies(record), .release]
        }
        guard !context.isServiceStopping else {
            phase = .released
            return [.release]
        }
        // The upload is complete but not committed, so after a crash it would be sent again. The service therefore
        // tries to commit until that works.
        record = shown
        recordBeforeEnd = nil
        entries = conclusion.entries
        phase = .pausing(conclusion)
        return [.concludeLater]
    }
}
