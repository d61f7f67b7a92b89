import NightshiftAPI
import Store

/// The rules for retries and for other URLs of existing tasks. Refusals are answers to clients.
extension TaskRecord {
    /// The reason why the task cannot be retried; nil if it can be retried, or if it needs no retry.
    var retryRefusal: Problem? {
        switch state {
        case .waiting, .running, .finishing: return nil
        case .failed where isRetryable: return nil
        case .suspended: return .conflict("Transfer \(id) is paused. Resume it to try again.")
        case .completed: return .conflict("Transfer \(id) has completed; there is nothing to retry.")
        case .cancelled:
            return .conflict("Transfer \(id) was cancelled. \(addition)")
        case .failed where app != nil:
            return .conflict("The app was notified that transfer \(id) failed. Only the app can try again.")
        case .failed where kind == .download:
            return .conflict("All bytes of transfer \(id) have arrived. Its file is kept here: \(file ?? "")")
        case .failed:
            let reason = error.map { " \($0.message)" } ?? ""
            return .conflict("Upload \(id) has failed.\(reason) \(addition)")
        }
    }

    /// The advice to add a task again that cannot be retried.
    private var addition: String {
        let command = kind == .upload ? "put" : "get"
        guard resumeData == nil else {
            return "To continue it as a new transfer, run: nightshift \(command) --continue \(id)"
        }
        return "Add it again with 'nightshift \(command)'."
    }

    /// The reason why the task must keep its URL; nil if the URL may change.
    var retargetRefusal: Problem? {
        switch state {
        case .completed:
            .conflict("Transfer \(id) is complete, so its URL cannot change.")
        case .cancelled:
            .conflict(
                "Transfer \(id) was cancelled. To continue it, add a new transfer with its resume data. "
                    + "You can use a different URL."
            )
        case .failed where app != nil:
            .conflict(
                "The app was notified that transfer \(id) failed. To continue, add a new transfer with its "
                    + "resume data."
            )
        case .failed where file != nil:
            .conflict("All bytes of transfer \(id) have arrived: \(file ?? "")")
        case .failed where kind == .upload: beganUpload
        case .suspended, .waiting, .running, .finishing, .failed:
            // An upload made from resume data began in an earlier task.
            kind == .upload && (attempts > 0 || upload != nil) ? beganUpload : nil
        }
    }

    var beganUpload: Problem {
        .conflict(
            "Upload \(id) has begun, and another server cannot use the bytes already sent. Cancel it and add a new one."
        )
    }

    /// The reason why the destination cannot change; nil if it can.
    func refusal(of destination: Destination?) -> Problem? {
        guard let destination, let own = request.destination, partial != nil, destination.directory != own.directory
        else { return nil }
        return .conflict("Transfer \(id) has received bytes, so its directory cannot change.")
    }

    /// Returns the task with its new URL and its other new values, as if it had been added now.
    func retargeted(
        by change: RetargetRequest, _ settings: SessionSettings, _ now: ClockReading
    ) throws(Problem) -> TaskRecord {
        let address = change.url ?? request.url ?? ""
        let url: TransferURL
        do {
            url = try TransferURL(parsing: address)
        } catch {
            throw .invalid(error.message, pointer: "/url")
        }
        guard request.isHarmlessElsewhere || TransferURL.areOfOneOrigin(request.url ?? "", address) else {
            throw .conflict(
                "The \(method) request of transfer \(id) was meant for its own server. For another "
                    + "server, cancel this transfer and add a new one."
            )
        }
        var merged = request.moved(to: address)
        merged.headers = change.headers ?? merged.headers
        merged.credential = change.credential ?? url.credential ?? merged.credential
        merged.destination = change.destination ?? merged.destination
        merged.checksum = change.checksum ?? merged.checksum
        merged.mirrors = change.mirrors ?? merged.mirrors
        merged.connections = change.connections ?? merged.connections
        merged.idleTimeout = change.idleTimeout ?? merged.idleTimeout
        if let proxy = change.proxy {
            merged.proxy = proxy
            merged.proxyVariable = nil
        }
        return try RequestRules.record(
            merged, session: session, settings: settings.forTask(of: origin, movedTo: address),
            now: now, pointer: "", looksAtDestination: false)
    }

    /// Returns the task with the request that its app has sent as the answer to a delayed request.
    func replaced(
        by answer: TaskRequest, _ settings: SessionSettings, _ now: ClockReading
    ) throws(Problem) -> TaskRecord {
        var merged = request.moved(to: answer.url)
        merged.method = answer.method ?? merged.method
        merged.body = answer.body ?? merged.body
        merged.headers = answer.headers ?? merged.headers
        merged.credential = answer.credential ?? answer.ownCredential ?? merged.credential
        merged.tls = answer.tls ?? merged.tls
        return try RequestRules.record(
            merged, session: session, settings: settings.forTask(of: origin, movedTo: answer.url),
            now: now, pointer: "/request", copies: self, looksAtDestination: false)
    }

    /// Whether the task waits for its next attempt after a failure.
    var waitsAfterFailure: Bool {
        guard notBefore != nil, let reason = wait?.reason else { return false }
        return reason.followsFailure || reason == .slow
    }

    /// Whether the task was cancelled without resume data, so that no other task can continue it.
    var isAbandoned: Bool { state == .cancelled && resumeData == nil }
}
