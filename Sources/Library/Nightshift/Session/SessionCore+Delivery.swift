import Foundation
import FoundationNetworking
import NightshiftAPI
import NightshiftClient
import Synchronization

/// Passes the service's events about the session to the delegate, one message at a time. Runs on ``events``.
extension SessionCore {
    func receive(_ event: ServerSentEvent) {
        state.withLock { $0.machine.heard() }
        let data = Data(event.data.utf8)
        if event.name == "message", let message = try? JSON.decodeKnown(SessionMessage.self, from: data) {
            receive(message)
        } else if event.name == "progress", let progress = try? JSON.decode(TaskProgress.self, from: data) {
            receive(progress)
        } else if event.name == "caughtUp", let end = try? JSON.decode(CaughtUp.self, from: data) {
            caughtUp(end.through)
        }
    }

    /// Records that all missing messages up to this id were already handled, by this process or an earlier one.
    private func caughtUp(_ through: Int64) {
        folder.withLock { $0?.arrived(through + 1) }
        apply { $0.machine.caughtUp(through: through) }
    }

    private func receive(_ message: SessionMessage) {
        let isNoted = folder.withLock { folder in
            folder?.arrived(message.id)
            return folder?.handled.contains(message.id) == true
        }
        let fate = state.withLock { state in
            state.machine.receive(message.id, isQuestion: message.kind.isQuestion, isNoted: isNoted)
        }
        switch fate {
        case .ignored: return
        case .asked: break
        case .handled: acknowledge()
        case .new: guard deliver(message) else { return }
        }
        apply { $0.machine.advance(to: message.id) }
        // This check is the last step, so that `urlSessionDidFinishEvents` is called before the session's last message.
        endIfFinished()
    }

    /// Delivers a message to the delegate.
    ///
    /// - Returns: False if the session ended first. The message is then sent again to a later process.
    private func deliver(_ message: SessionMessage) -> Bool {
        let task = self.task(for: message.task)
        switch message.kind {
        case .challenge: ask(task, message)
        case .delayedRequest: askBeforeBeginning(task, message)
        case .resumed:
            task.core.apply(message.task)
            let offset = message.task.resumedAt ?? 0
            task.core.state.withLock { $0.reported = offset }
            resumed(task, offset)
            handled(message.id)
        case .ended:
            task.core.apply(message.task)
            // The offset is set here for a download from resume data that ended before it was reported as resumed.
            task.core.state.withLock { $0.reported = $0.reported ?? message.task.resumedAt ?? 0 }
            guard ended(task, message) else { return false }
            handled(message.id)
            remove(task.core)
        }
        return true
    }

    /// Returns the task's existing object, or a new one.
    private func task(for task: SessionTask) -> any BackgroundTask {
        let number = Int(task.task.taskIdentifier)
        return state.withLock { state in
            _ = state.machine.learn(task.task.id, of: number)
            if let known = state.tasks[number] { return known }
            let new = TaskCore(self, task).makeTask()
            state.tasks[number] = new
            return new
        }
    }

    // MARK: - Progress

    private func receive(_ progress: TaskProgress) {
        guard let task = task(progress.id) else { return }
        task.core.count(
            received: progress.countOfBytesReceived, expectedToReceive: progress.countOfBytesExpectedToReceive,
            sent: progress.countOfBytesSent, expectedToSend: progress.countOfBytesExpectedToSend)
        guard let news = task.core.takeProgress() else { return }
        callDelegate { session, delegate in Self.report(news, of: task, session, delegate) }
    }

    private static func report(
        _ news: (bytes: Int64, total: Int64, expected: Int64), of task: any BackgroundTask,
        _ session: BackgroundURLSession, _ delegate: any URLSessionDelegate
    ) {
        if let download = task as? BackgroundDownloadTask {
            (delegate as? any URLSessionDownloadDelegate)?.urlSession(
                session, downloadTask: download, didWriteData: news.bytes, totalBytesWritten: news.total,
                totalBytesExpectedToWrite: news.expected)
        } else {
            (delegate as? any URLSessionTaskDelegate)?.urlSession(
                session, task: task, didSendBodyData: news.bytes, totalBytesSent: news.total,
                totalBytesExpectedToSend: news.expected)
        }
    }

    private func resumed(_ task: any BackgroundTask, _ offset: Int64) {
        guard let download = task as? BackgroundDownloadTask else { return }
        let expected = download.countOfBytesExpectedToReceive
        callDelegate { session, delegate in
            (delegate as? any URLSessionDownloadDelegate)?.urlSession(
                session, downloadTask: download, didResumeAtOffset: offset, expectedTotalBytes: expected)
        }
    }

    // MARK: - The end of a task

    /// The result of a task, as the delegate receives it.
    private struct Outcome {
        var error: URLError?
        /// The file of a finished download.
        var link: URL?
        /// The size of the decoded file. Nil if the response had no content coding. FoundationNetworking counts decoded
        /// bytes as written, and reports no expected number.
        var decodedCount: Int64?
        /// The server's response body to an upload.
        var body: Data?
    }

    /// Delivers the message that a task has ended.
    ///
    /// - Returns: False if the session ended first.
    private func ended(_ task: any BackgroundTask, _ message: SessionMessage) -> Bool {
        let status = message.task.task
        let url = task.core.state.withLock { $0.originalRequest?.url }
        store(message.task.cookies ?? [], of: task)
        let failure = URLError(
            status, url: url, resumeData: ResumeData(status, note: message.task.clientData)?.handOut())
        guard let outcome = failure.map({ Outcome(error: $0) }) ?? self.outcome(of: task, status, message.id, url: url)
        else { return false }
        defer { if let link = outcome.link { folder.withLock { $0?.remove(link) } } }
        guard state.withLock({ $0.machine.end(task.core.identifier) }) else { return true }
        if let count = outcome.decodedCount {
            task.core.count(received: count, expectedToReceive: -1, sent: 0, expectedToSend: -1)
        }
        let news = task.core.takeProgress()
        task.core.end(error: outcome.error)
        callDelegate { session, delegate in
            if let news, outcome.error == nil { Self.report(news, of: task, session, delegate) }
            if let link = outcome.link, let download = task as? BackgroundDownloadTask {
                (delegate as? any URLSessionDownloadDelegate)?.urlSession(
                    session, downloadTask: download, didFinishDownloadingTo: link)
            }
            if let body = outcome.body, !body.isEmpty, let upload = task as? BackgroundUploadTask {
                (delegate as? any URLSessionDataDelegate)?.urlSession(session, dataTask: upload, didReceive: body)
            }
            (delegate as? any URLSessionTaskDelegate)?.urlSession(
                session, task: task, didCompleteWithError: outcome.error)
        }
        return true
    }

    /// Returns the result of a task that did not fail.
    ///
    /// A failure of this process or its disk does not mean that the transfer failed. The service keeps the file until
    /// the message is acknowledged. This method therefore retries until it can hand the file over, and later messages
    /// wait.
    ///
    /// - Returns: The result, or nil if the session ended first.
    private func outcome(of task: any BackgroundTask, _ status: TaskStatus, _ message: Int64, url: URL?) -> Outcome? {
        var pause = Self.firstDeliveryPause
        var isNews = true
        while failure == nil, !isOver {
            do {
                return try handOut(status, message, isDownload: task.core.kind == .download, url: url)
            } catch {
                // The app no longer wants the file, and the session cannot end before this method returns.
                if state.withLock(\.machine.life.isCancelled) {
                    return Outcome(error: .make(NSURLErrorCancelled, "cancelled", url: url))
                }
                if isNews {
                    Notice.print(
                        "The app cannot get a finished transfer of session \(identifier) yet. The library tries again. \(error)"
                    )
                }
                isNews = false
                wait(pause)
                pause = min(pause * 2, Self.longestDeliveryPause)
            }
        }
        return nil
    }

    /// Blocks the thread for `pause` seconds, or less if the session is cancelled or over.
    private func wait(_ pause: Double) {
        var left = pause
        while left > 0, !isGivenUp {
            let step = min(left, 0.25)
            Thread.sleep(forTimeInterval: step)
            left -= step
        }
    }

    /// Whether the session has stopped retrying to hand over files.
    private var isGivenUp: Bool { state.withLock { $0.machine.life.isCancelled || $0.machine.life.isOver } }

    /// The time in seconds before the first retry to hand over a file. It doubles with each retry.
    private static let firstDeliveryPause = 0.02
    private static let longestDeliveryPause = 30.0

    /// Returns the outcome of a task that did not fail, with its decoded file or response body.
    ///
    /// - Throws: Errors that may be temporary. A missing file, or a file that would be too large after decoding, is
    ///   reported as an error of the task instead.
    private func handOut(_ status: TaskStatus, _ message: Int64, isDownload: Bool, url: URL?) throws -> Outcome {
        guard let file = status.file, !DeliveryFolder.isGone(file) else {
            guard isDownload else { return Outcome() }
            return Outcome(error: .make(NSURLErrorCannotOpenFile, "The finished file no longer exists.", url: url))
        }
        let decoded: URL?
        do {
            decoded = try self.decoded(file, status, message)
        } catch let problem as POSIXError where problem.code == .EFBIG {
            return Outcome(
                error: .make(NSURLErrorCannotWriteToFile, "The file would be too large when decoded.", url: url))
        }
        guard !isDownload else {
            let size = try decoded.flatMap { try $0.resourceValues(forKeys: [.fileSizeKey]).fileSize }
            return try Outcome(link: decoded ?? link(file, message), decodedCount: size.map(Int64.init))
        }
        defer { if let decoded { folder.withLock { $0?.remove(decoded) } } }
        return try Outcome(body: Data(contentsOf: decoded ?? URL(filePath: file)))
    }

    /// Decodes a file that arrived in a content coding. Returns nil for other files. The folder is not locked during
    /// decoding, so that decoding delays only this delivery.
    private func decoded(_ file: String, _ status: TaskStatus, _ message: Int64) throws -> URL? {
        guard let response = status.response,
            let coding = ContentCoding(decoding: response.headers, url: status.currentURL ?? status.url),
            let path = try folder.withLock({ try $0?.nameForDecoding(message: message) })
        else { return nil }
        let isWhole = try ContentDecoder.decode(file, to: path, coding) { [self] in
            failure == nil && !isGivenUp
        }
        return isWhole ? URL(filePath: path) : nil
    }

    private func link(_ file: String, _ message: Int64) throws -> URL? {
        try folder.withLock { try $0?.link(to: file, message: message) }
    }

    // MARK: - Acknowledgement

    /// Records that the delegate has handled a message, so that the message is never delivered again.
    private func handled(_ id: Int64) {
        folder.withLock { $0?.note(id) }
        apply { $0.machine.handled(id) }
    }

    private func acknowledge() { apply { $0.machine.acknowledge() } }

    /// Sends pending acknowledgements, if none are being sent. Runs on ``requests``.
    func acknowledgeNow() {
        if state.withLock({ $0.machine.beginAcknowledging() }) { sendAcknowledgements() }
    }

    /// Acknowledges the handled messages. One request acknowledges all pending messages, up to the limit of a request.
    /// Runs on ``requests``.
    func sendAcknowledgements() {
        deliverAcknowledgements(within: Self.requestTimeout) { $0.acknowledgementEnded($1) }
    }

    /// Acknowledges the remaining messages on the thread that is about to end the process.
    func acknowledge(until deadline: ContinuousClock.Instant) {
        let left = deadline - .now
        if left > .zero { deliverAcknowledgements(within: left) { $0.acknowledged($1) } }
    }

    /// Sends the acknowledgement of the handled messages, and reports the result to the machine.
    ///
    /// - Parameter input: A closure that gets the acknowledged messages, or none if the service did not answer.
    private func deliverAcknowledgements(
        within timeout: Duration, _ input: (inout SessionMachine, [Int64]) -> [SessionAction]
    ) {
        var ids = state.withLock { Array($0.machine.messages.unacknowledged.prefix(Limits.tasksPerRequest)) }
        do {
            let body = MessageAcknowledgement(messages: ids)
            if !ids.isEmpty {
                try connection.notify(.acknowledge(body, inSession: identifier), hasty: true, timeout: timeout)
            }
        } catch {
            // The service sends these messages again after the next attachment, and they are acknowledged then.
            ids = []
        }
        apply { input(&$0.machine, ids) }
        // The folder no longer needs these ids, because the machine recognises the messages if they arrive again.
        if !ids.isEmpty { folder.withLock { $0?.forget(ids) } }
    }
}
