package import NightshiftAPI
import Scheduler
package import Store

/// What can happen to a task.
package enum TaskEvent: Hashable, Sendable {
    case suspend
    case resume
    /// It was under way whenever a fault ended the service, so often: it waits for a person.
    case setAside(faults: Int)
    /// An attempt begins.
    case begin
    /// The server's answer is accepted and its bytes are being written.
    case accept(AcceptedResponse)
    /// Bytes were synced: they survive a power cut.
    case checkpoint(synced: Int64)
    /// The exchange was ended by the service itself: to make room, because the moment forbids it, or because it stops. The next
    /// one begins no earlier than at this boot second.
    case interrupt(WaitReason, detail: String? = nil, notBefore: Double? = nil)
    case hold(Hold)
    /// The server keeps so much of the upload.
    case keep(UploadResource)
    /// The upload goes on where the server is.
    case sendOn(from: Int64)
    /// What the server had of the upload is lost.
    case sendAgain(reason: String)
    /// Every byte is here.
    case finish(ResponseSummary?)
    /// The intent to give the file its name.
    case publish(Publication)
    case complete(file: String?, verified: [String])
    /// The bytes turned out to be wrong; they are fetched again from the start, no earlier than at this boot second.
    case fetchAgain(TransferFailure, notBefore: Double? = nil)
    /// `file` is where whole bytes are kept, if they are; `resumeData` is what unfinished ones continue from.
    case fail(TransferFailure, file: String?, resumeData: String?)
    /// `failure` says who cancelled it, where that was not its owner.
    case cancel(resumeData: String?, failure: TransferFailure?)
    /// A server wants to know something that only the task's app can say.
    case ask(String)
    case answer
    /// So much of its time has passed that it waits for less.
    case loosen
    /// Another request takes the place of its own, at another URL as a rule; a task that has failed is tried again.
    case retarget(TaskRequest)
    /// Somebody knows that what failed works again: the next attempt comes now, as if none had failed.
    case retry
}

/// What an accepted response says of the download.
package struct AcceptedResponse: Hashable, Sendable {
    package var response: ResponseSummary
    package var url: String
    package var partial: PartialFile
    package var isLarge: Bool
    /// The offset at which it continues; 0 from the start.
    package var offset: Int64
    /// Why bytes that were here were thrown away.
    package var restart: String?

    package init(
        response: ResponseSummary, url: String, partial: PartialFile, isLarge: Bool, offset: Int64, restart: String?
    ) {
        self.response = response
        self.url = url
        self.partial = partial
        self.isLarge = isLarge
        self.offset = offset
        self.restart = restart
    }
}

/// A pause after trouble.
package struct Hold: Hashable, Sendable {
    package var reason: WaitReason
    package var failure: TransferFailure
    /// Boot seconds; nil leaves it to the queue.
    package var notBefore: Double?

    package init(reason: WaitReason, failure: TransferFailure, notBefore: Double?) {
        self.reason = reason
        self.failure = failure
        self.notBefore = notBefore
    }
}

extension TaskRecord {
    /// Changes the task as `event` says and gives the journal entries that belong to it.
    ///
    /// - Throws: ``IllegalTransition`` where ``allows(_:)`` says no; the task is unchanged then.
    package mutating func apply(_ event: TaskEvent, now: ClockReading) throws(IllegalTransition) -> [JournalEntry] {
        guard allows(event) else { throw IllegalTransition(state: state, event: event) }
        switch event {
        case .suspend:
            state = .suspended
            timeLeft = deadline.map { max(0, $0 - now.bootSeconds) }
            deadline = nil
            loosensAt = nil
            notBefore = nil
            wait = nil
            return [entry(.suspended, now)]
        case .resume:
            state = .waiting
            deadline = timeLeft.map { now.bootSeconds + $0 }
            timeLeft = nil
            failures = 0
            fruitless = 0
            wait = nil
            scheduleLoosening()
            return [entry(.resumed, now)]
        case .setAside(let faults):
            return setAside(faults, now)
        case .begin:
            beginAttempt()
            return []
        case .retry:
            // The path is used as it is then.
            folder = nil
            notBefore = nil
            wait = nil
            failures = 0
            fruitless = 0
            return [entry(.retried, now)]
        case .accept(let accepted):
            return accept(accepted, now)
        case .checkpoint(let synced):
            partial?.synced = synced
            noteProgress()
            return []
        case .interrupt where state == .finishing:
            state = .waiting
            publication = nil
            return []
        case .interrupt(let reason, let detail, let notBefore):
            noteProgress()
            withdrawAttempt()
            self.notBefore = notBefore ?? self.notBefore
            guard reason != .starting else { return [] }
            wait = StoredWait(reason: reason, since: now.wallSeconds, detail: detail)
            return [entry(.held, now, wait: wait)]
        case .hold(let hold):
            return self.hold(hold, now)
        case .keep(let resource):
            return keep(resource, now)
        case .sendOn(let offset):
            noteContinuation(from: offset)
            return [entry(.uploadContinued, now, detail: "From byte \(offset).")]
        case .sendAgain(let reason):
            upload = nil
            noteRestart()
            return [entry(.uploadRestarted, now, detail: reason)]
        case .finish(let summary):
            state = .finishing
            notBefore = nil
            wait = nil
            question = nil
            response = summary ?? response
            return [entry(.finishing, now)]
        case .publish(let intent):
            publication = intent
            return []
        case .complete(let file, let verified):
            self.file = file
            self.verified = verified
            lastError = nil
            upload = nil
            end(.completed, now)
            return [entry(.completed, now, detail: file)]
        case .fetchAgain(let failure, let notBefore):
            state = .waiting
            partial = nil
            publication = nil
            received = 0
            noteRestart()
            failures += 1
            self.notBefore = notBefore
            lastError = failure
            wait = notBefore.map { _ in
                StoredWait(reason: .retry, since: now.wallSeconds, detail: described(failure))
            }
            return [entry(.restarted, now, error: failure)]
        case .fail(let failure, let file, let token):
            error = failure
            lastError = failure
            self.file = file
            resumeData = token
            end(.failed, now)
            if token == nil { dropBytes() }
            return [entry(.failed, now, error: failure)]
        case .ask(let detail):
            question = .challenge
            wait = StoredWait(reason: .answer, since: now.wallSeconds, detail: detail)
            notBefore = nil
            return [entry(.asked, now, wait: wait)]
        case .answer:
            question = nil
            wait = nil
            return [entry(.answered, now)]
        case .loosen:
            guard let detail = loosen() else { return [] }
            var loosened = entry(.conditionsLoosened, now, detail: detail)
            loosened.inputs = discretion.inputs
            return [loosened]
        case .retarget(let request):
            return retarget(request, now)
        case .cancel(let token, let failure):
            resumeData = token
            error = failure
            end(.cancelled, now)
            if token == nil { dropBytes() }
            return [entry(.cancelled, now)]
        }
    }

    private mutating func setAside(_ faults: Int, _ now: ClockReading) -> [JournalEntry] {
        state = .suspended
        publication = nil
        timeLeft = deadline.map { max(0, $0 - now.bootSeconds) }
        deadline = nil
        loosensAt = nil
        notBefore = nil
        wait = StoredWait(
            reason: .serviceFault, since: now.wallSeconds,
            detail: "It was under way at \(faults) faults of the service.")
        return [entry(.held, now, wait: wait)]
    }

    private mutating func accept(_ accepted: AcceptedResponse, _ now: ClockReading) -> [JournalEntry] {
        startedAt = startedAt ?? now.wallSeconds
        response = accepted.response
        currentURL = accepted.url == request.url ? nil : accepted.url
        partial = accepted.partial
        isLarge = accepted.isLarge
        received = accepted.offset
        firstDoubt = nil
        if continues, resumedAt == nil { resumedAt = accepted.offset }
        question = nil
        wait = nil
        var entries: [JournalEntry] = []
        if let reason = accepted.restart {
            noteRestart()
            entries.append(entry(.restarted, now, detail: reason))
        }
        if accepted.offset > 0 {
            noteContinuation(from: accepted.offset)
            entries.append(entry(.continued, now, detail: "From byte \(accepted.offset)."))
        } else if accepted.restart == nil {
            entries.append(entry(.started, now))
        }
        return entries
    }

    private mutating func retarget(_ request: TaskRequest, _ now: ClockReading) -> [JournalEntry] {
        replaceRequest(by: request)
        wrongSources = []
        // What else it waited for was the old URL's; this is for its app's being woken often.
        if wait?.reason != .relaunchDelay {
            notBefore = nil
            wait = nil
        }
        question = nil
        failures = 0
        fruitless = 0
        furthest = 0
        if state == .failed {
            state = .waiting
            endedAt = nil
            endedBoot = nil
            error = nil
            resumeData = nil
            deadline = request.resourceTimeout.map { now.bootSeconds + $0 }
            scheduleLoosening()
        }
        return [entry(.retargeted, now)]
    }

    private mutating func keep(_ resource: UploadResource, _ now: ClockReading) -> [JournalEntry] {
        let isNew = upload?.url != resource.url
        upload = resource
        noteProgress()
        startedAt = startedAt ?? now.wallSeconds
        question = nil
        wait = nil
        return isNew ? [entry(.uploadKept, now)] : []
    }

    private mutating func dropBytes() {
        partial = nil
        upload = nil
    }

    private mutating func hold(_ hold: Hold, _ now: ClockReading) -> [JournalEntry] {
        state = .waiting
        publication = nil
        noteProgress()
        failures += 1
        notBefore = hold.notBefore
        lastError = hold.failure
        wait = StoredWait(reason: hold.reason, since: now.wallSeconds, detail: described(hold.failure))
        return [entry(.held, now, wait: wait, error: hold.failure)]
    }

    /// A failure together with what it means for the bytes that had come.
    private func described(_ failure: TransferFailure) -> String {
        [failure.message, lossSentence].compactMap(\.self).joined(separator: " ")
    }

    mutating func end(_ state: TaskState, _ now: ClockReading) {
        self.state = state
        endedAt = now.wallSeconds
        endedBoot = now.bootSeconds
        deadline = nil
        timeLeft = nil
        notBefore = nil
        beginAt = nil
        wait = nil
        publication = nil
        question = nil
    }

    func entry(
        _ decision: Decision, _ now: ClockReading, wait: StoredWait? = nil, error: TransferFailure? = nil,
        detail: String? = nil
    ) -> JournalEntry {
        JournalEntry(
            time: now.date, decision: decision, task: id, wait: wait.map { visible($0, now) }, error: error,
            detail: detail)
    }
}
