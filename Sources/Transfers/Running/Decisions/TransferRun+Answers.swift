package import NightshiftAPI
import Store

/// How an upload ends that its server has answered.
package struct UploadConclusion: Hashable, Sendable {
    /// The answer's body.
    package var body: AnswerBody
    /// Why the task fails all the same.
    package var failure: TransferFailure?
    /// What is not in the journal yet.
    package var entries: [JournalEntry]
}

/// What follows when the server has given its last answer to an upload.
extension TransferRun {
    /// The server has answered: the task ends, or waits where the answer is a passing one and the task wants to try again then.
    package mutating func uploadAnswered(
        _ head: ResponseHead, _ answer: UploadAnswer, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        let request = record.request
        let failure = TransferFailure(
            .httpStatus, "The server answered \(HTTPStatus.name(head.status)).", status: head.status)
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

    /// - Parameter path: where the answer's body is kept; nil where it could not be.
    package mutating func bodyKept(_ path: String?, _ context: RunContext) -> [TransferAction] {
        guard case .keepingBody(let conclusion) = phase else {
            assertionFailure("The answer to task \(record.id) was kept, and its run is \(phase).")
            return []
        }
        guard let path else {
            guard !context.isServiceStopping else {
                entries = []
                phase = .released
                return [.release]
            }
            // The upload is done: it would be sent again, so keeping the answer is tried until it works.
            phase = .pausing(conclusion)
            return [.concludeLater]
        }
        return end(conclusion, file: path, context.now)
    }

    /// A pause is over after which an end that could not be written down is tried again.
    package mutating func concludeAgain(_ context: RunContext) -> [TransferAction] {
        guard case .pausing(let conclusion) = phase else {
            assertionFailure("The end of task \(record.id) is tried again, and its run is \(phase).")
            return []
        }
        return conclude(conclusion, context.now)
    }

    /// Keeps the answer's body, where it has one, and ends the task.
    private mutating func conclude(_ conclusion: UploadConclusion, _ now: ClockReading) -> [TransferAction] {
        guard conclusion.body.count > 0 else { return end(conclusion, file: nil, now) }
        phase = .keepingBody(conclusion)
        return [.keepBody(conclusion.body)]
    }

    private mutating func end(
        _ conclusion: UploadConclusion, file: String?, _ now: ClockReading
    ) -> [TransferAction] {
        let before = record
        recordBeforeEnd = before
        record.received = conclusion.body.count
        entries = conclusion.entries
        if let failure = conclusion.failure {
            entries += apply(.fail(failure, file: file, resumeData: nil), now)
        } else {
            entries += apply(.finish(nil), now)
            entries += apply(.complete(file: file, verified: []), now)
        }
        phase = .concluding(conclusion, before: before)
        return flush()
    }

    /// The end of an upload could be written down, or not.
    mutating func concluded(
        _ isSaved: Bool, _ conclusion: UploadConclusion, before: TaskRecord, _ context: RunContext
    ) -> [TransferAction] {
        guard !isSaved else {
            phase = .released
            return [.removeCopies(record), .release]
        }
        guard !context.isServiceStopping else {
            phase = .released
            return [.release]
        }
        // The upload is done, and not written down: it would be sent again, so writing is tried until it works.
        record = before
        recordBeforeEnd = nil
        entries = conclusion.entries
        phase = .pausing(conclusion)
        return [.concludeLater]
    }
}
