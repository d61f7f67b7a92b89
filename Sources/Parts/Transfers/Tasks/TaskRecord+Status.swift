import Foundation
package import NightshiftAPI
package import Store

extension TaskRecord {
    /// Returns a stored wait in the form for clients, with its end as wall-clock time.
    package func visible(_ wait: StoredWait, _ now: ClockReading) -> Wait {
        Wait(
            reason: wait.reason, since: Date(timeIntervalSince1970: wait.since),
            until: notBefore.map { now.wallTime(ofBootSeconds: $0) }, detail: wait.detail,
            count: wait.reason.followsFailure && failures > 1 ? failures : nil)
    }

    /// Returns the status for the task's app. Other clients get ``NightshiftAPI/TaskStatus/shown``. The caller adds the
    /// facts that only a running transfer has.
    package func status(now: ClockReading) -> TaskStatus {
        var status = TaskStatus(
            id: id, session: session, taskIdentifier: taskIdentifier, kind: kind, method: method,
            url: request.url ?? "", state: state, priority: priority,
            createdAt: Date(timeIntervalSince1970: createdAt))
        status.currentURL = currentURL
        status.rateLimit = request.rateLimit
        status.description = request.description
        status.clientData = app == nil ? clientData : nil
        status.startedAt = startedAt.map(Date.init(timeIntervalSince1970:))
        status.endedAt = endedAt.map(Date.init(timeIntervalSince1970:))
        status.earliestBeginDate = request.earliestBeginDate
        status.deadline = deadline.map { now.wallTime(ofBootSeconds: $0) }
        status.countOfBytesReceived = received
        status.countOfBytesExpectedToReceive =
            partial?.total ?? ((state == .completed || file != nil) && kind == .download ? received : -1)
        status.countOfBytesSent = sent
        status.countOfBytesExpectedToSend = kind == .upload ? sentFiles?.length ?? -1 : 0
        status.countOfBytesClientExpectsToSend = request.countOfBytesClientExpectsToSend
        status.countOfBytesClientExpectsToReceive = request.countOfBytesClientExpectsToReceive
        status.attempts = attempts
        status.restarts = restarts
        status.response = response
        status.upload = upload.map(UploadStatus.init)
        status.rules = rules.isEmpty ? nil : rules
        status.source = request.source
        status.destination = request.destination
        status.file = file
        status.checksum = request.checksum
        status.verified = verified
        status.lastError = lastError
        status.error = error
        status.resumeData = resumeData
        return status
    }

    package var method: String {
        request.method ?? (kind == .download ? "GET" : request.form == nil ? "PUT" : "POST")
    }
}

extension WaitReason {
    /// Whether this wait follows a failed attempt.
    var followsFailure: Bool {
        switch self {
        case .retry, .retryAfter, .diskSpace, .destinationSilent: true
        default: false
        }
    }
}

extension UploadStatus {
    fileprivate init(_ resource: UploadResource) {
        self.init(resumption: .draft, countOfBytesAcknowledged: resource.offset)
        switch resource.uploadProtocol {
        case .draft(let version): interopVersion = version.rawValue
        case .tus: resumption = .tus
        case .plain: resumption = .plain
        }
        expiresAt = resource.expiresAt.map(Date.init(timeIntervalSince1970:))
    }
}

extension ResponseSummary {
    package init(_ head: ResponseHead) {
        var bytes = 0
        let kept = head.headers.prefix { field in
            bytes += field.name.utf8.count + field.value.utf8.count + 4
            return bytes <= Limits.responseHeaderBytes
        }
        self.init(status: head.status, headers: Array(kept), httpVersion: head.httpVersion)
        redirectCookies = head.redirectCookies.isEmpty ? nil : head.redirectCookies
    }

    /// Returns the cookies that servers have set, in order.
    func cookies(of url: String) -> [SetCookie]? {
        let all = (redirectCookies ?? []) + headers.all("Set-Cookie").map { SetCookie(url: url, value: $0) }
        return all.isEmpty ? nil : all
    }
}
