package import NightshiftAPI
import Scheduler
package import Store

/// An event in the life of a task.
package enum TaskEvent: Hashable, Sendable {
    case suspend
    case resume
    /// The task was running when the service crashed, this many times. It now waits for a person's decision.
    case setAside(faults: Int)
    /// An attempt begins.
    case begin
    /// The server's response is accepted, and its bytes are being written.
    case accept(AcceptedResponse)
    /// Bytes were synced, so they survive a power cut.
    case checkpoint(synced: Int64)
    /// The service itself ended the exchange: because other tasks need the connection, because the device state does
    /// not allow the exchange, or because the service stops. The next exchange begins no earlier than at this boot
    /// second.
    case interrupt(WaitReason, detail: String? = nil, notBefore: Double? = nil)
    case hold(Hold)
    /// The server stores the upload, or a part of it, as this resource.
    case keep(UploadResource)
    /// The upload continues at the server's offset.
    case sendOn(from: Int64)
    /// The server has lost the upload's earlier bytes.
    case sendAgain(reason: String)
    /// All bytes of the file have arrived.
    case finish(ResponseSummary?)
    /// The intent to rename the file to its final name.
    case publish(Publication)
    case complete(file: String?, verified: [String])
    /// The bytes on disk are wrong. They are fetched again from the start, no earlier than at this boot second.
    case fetchAgain(TransferFailure, notBefore: Double? = nil)
    /// The task fails. `file` is the path of the complete bytes, if they are stored. `resumeData` allows another task
    /// to continue incomplete bytes.
    case fail(TransferFailure, file: String?, resumeData: String?)
    /// The task is cancelled. `failure` says who cancelled it, if that was not its owner.
    case cancel(resumeData: String?, failure: TransferFailure?)
    /// A server sent a challenge that only the task's app can answer.
    case ask(String)
    case answer
    /// The task's requirements are relaxed, because a certain share of its time has passed.
    case loosen
    /// Another request replaces the request of the task, usually with another URL. A failed task is tried again.
    case retarget(TaskRequest)
    /// A person says that the cause of the failure is gone. The next attempt begins now, as if no attempt had failed. A
    /// failed task is tried again.
    case retry
}

/// The facts about a download from an accepted response.
package struct AcceptedResponse: Hashable, Sendable {
    package var response: ResponseSummary
    package var url: String
    package var partial: PartialFile
    package var isLarge: Bool
    /// The offset at which the download continues; 0 from the start.
    package var offset: Int64
    /// The reason why bytes on disk were discarded.
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

/// A pause after a failure.
package struct Hold: Hashable, Sendable {
    package var reason: WaitReason
    package var failure: TransferFailure
    /// The end of the pause in boot seconds; nil lets the queue decide when the task starts.
    package var notBefore: Double?

    package init(reason: WaitReason, failure: TransferFailure, notBefore: Double?) {
        self.reason = reason
        self.failure = failure
        self.notBefore = notBefore
    }
}

extension TaskRecord {
    /// Changes the task according to `event`, and returns the journal entries for it.
    ///
    /// - Throws: ``IllegalTransition`` if ``allows(_:)`` returns false; the task is unchanged then.
    package mutating func apply(_ event: TaskEvent, now: ClockReading) throws(IllegalTransition) -> [JournalEntry] {
        guard allows(event) else { throw IllegalTransition(state: state, event: event) }
        switch event {
        case .suspend:
            state = .suspended
            timeLeft = deadline.map { max(0, $0 - now.bootSeconds) }
            deadline = nil
            relaxesAt = nil
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
            // After this, the path is used as it is now, and its folder is not checked.
            folder = nil
            notBefore = nil
            wait = nil
            failures = 0
            fruitless = 0
            revive(now)
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
            return [entry(.finishing, now, detail: kind.finishing.sentence)]
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
        relaxesAt = nil
        notBefore = nil
        wait = StoredWait(
            reason: .serviceFault, since: now.wallSeconds,
            detail: "The service crashed \(faults) times while this transfer was running.")
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
        // Other waits belonged to the old URL. The wait `relaunchDelay` limits how often the app is woken, so it stays.
        if wait?.reason != .relaunchDelay {
            notBefore = nil
            wait = nil
        }
        question = nil
        failures = 0
        fruitless = 0
        furthest = 0
        revive(now)
        return [entry(.retargeted, now)]
    }

    /// Lets a failed task wait again, with its full resource timeout and the bytes that it has. Other tasks are not
    /// changed.
    private mutating func revive(_ now: ClockReading) {
        guard state == .failed else { return }
        state = .waiting
        endedAt = nil
        endedBoot = nil
        error = nil
        resumeData = nil
        wrongSources = []
        furthest = 0
        deadline = request.resourceTimeout.map { now.bootSeconds + $0 }
        scheduleLoosening()
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

    /// Returns a failure message that includes the consequence for the received bytes.
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
