import Foundation
import FoundationNetworking
import NightshiftAPI
import NightshiftClient
import Synchronization

/// What the service says of the session, handed to the delegate: on ``events``, one message at a time.
extension SessionCore {
    func receive(_ event: ServerSentEvent) {
        state.withLock { $0.pause = .zero }
        let data = Data(event.data.utf8)
        if event.name == "message", let message = try? JSON.decode(SessionMessage.self, from: data) {
            receive(message)
        } else if event.name == "progress", let progress = try? JSON.decode(TaskProgress.self, from: data) {
            receive(progress)
        } else if event.name == "caughtUp", let end = try? JSON.decode(CaughtUp.self, from: data) {
            caughtUp(end.through)
        }
    }

    /// Notes that every message up to this one that is missing was handled before, by this process or an earlier one.
    private func caughtUp(_ through: Int64) {
        folder.withLock { $0?.arrived(through + 1) }
        let waiters = state.withLock { state in
            state.isCaughtUp = true
            state.lastHandled = max(state.lastHandled, through)
            defer { state.backlogWaiters = [] }
            return state.backlogWaiters
        }
        for waiter in waiters { waiter.signal() }
        connection.commands.advanced(self)
    }

    private func receive(_ message: SessionMessage) {
        enum Fate { case new, handled, asked, none }
        let isNoted = folder.withLock { folder in
            folder?.arrived(message.id)
            return folder?.handled.contains(message.id) == true
        }
        let fate = state.withLock { state -> Fate in
            guard !state.isInvalid else { return .none }
            if state.asked.contains(message.id) { return .asked }
            if isNoted || state.acknowledged.contains(message.id) {
                if !state.unacknowledged.contains(message.id) { state.unacknowledged.append(message.id) }
                return .handled
            }
            if message.kind.isQuestion { state.asked.insert(message.id) }
            return .new
        }
        switch fate {
        case .none: return
        case .asked: break
        case .handled: acknowledge()
        case .new: deliver(message)
        }
        state.withLock { $0.lastHandled = max($0.lastHandled, message.id) }
        connection.commands.advanced(self)
        // The delegate hears that its events are finished before it hears that nothing more comes.
        invalidateIfFinished()
    }

    private func deliver(_ message: SessionMessage) {
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
            // A download from resume data that has ended without having gone on.
            task.core.state.withLock { $0.reported = $0.reported ?? message.task.resumedAt ?? 0 }
            ended(task, message)
            handled(message.id)
            remove(task.core)
        }
    }

    /// The task's object: the one that the app has, or a new one.
    private func task(for task: SessionTask) -> any BackgroundTask {
        let identifier = Int(task.task.taskIdentifier)
        return state.withLock { state in
            state.taskIdentifiers[task.task.id] = identifier
            if let known = state.tasks[identifier] { return known }
            let new = TaskCore(self, task).makeTask()
            state.tasks[identifier] = new
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

    private func ended(_ task: any BackgroundTask, _ message: SessionMessage) {
        let status = message.task.task
        let url = task.core.state.withLock { $0.originalRequest?.url }
        store(message.task.cookies ?? [], of: task)
        var error = URLError(
            status, url: url, resumeData: ResumeData(status, note: message.task.clientData)?.handOut())
        var link: URL?
        var body: Data?
        if error == nil {
            do {
                if task.core.kind == .download {
                    link = try decoded(status, message.id) ?? self.link(status, message.id)
                } else {
                    let decoded = try decoded(status, message.id)
                    let file = decoded ?? status.file.map { URL(filePath: $0) }
                    body = try file.map { try Data(contentsOf: $0) }
                    if let decoded { folder.withLock { $0?.remove(decoded) } }
                }
            } catch let problem as POSIXError where problem.code == .ENOSPC || problem.code == .EDQUOT {
                error = .make(NSURLErrorCannotWriteToFile, "There is no room to decode the file.", url: url)
            } catch {
                // Somebody has removed it from the service's own directory.
            }
            if error == nil && task.core.kind == .download && link == nil {
                error = .make(NSURLErrorCannotOpenFile, "The finished file is gone.", url: url)
            }
        }
        let news = task.core.takeProgress()
        task.core.end(error: error)
        callDelegate { [error, link, body] session, delegate in
            if let news, error == nil { Self.report(news, of: task, session, delegate) }
            if let link, let download = task as? BackgroundDownloadTask {
                (delegate as? any URLSessionDownloadDelegate)?.urlSession(
                    session, downloadTask: download, didFinishDownloadingTo: link)
            }
            if let body, !body.isEmpty, let upload = task as? BackgroundUploadTask {
                (delegate as? any URLSessionDataDelegate)?.urlSession(session, dataTask: upload, didReceive: body)
            }
            (delegate as? any URLSessionTaskDelegate)?.urlSession(session, task: task, didCompleteWithError: error)
        }
        if let link { folder.withLock { $0?.remove(link) } }
    }

    /// What is in a file that has come in a coding; nil for any other.
    private func decoded(_ status: TaskStatus, _ message: Int64) throws -> URL? {
        guard let file = status.file,
            let coding = ContentCoding.coding(of: status.response, url: status.currentURL ?? status.url)
        else { return nil }
        return try folder.withLock { try $0?.decode(file, coding: coding, message: message) }
    }

    private func link(_ status: TaskStatus, _ message: Int64) throws -> URL? {
        guard let file = status.file else { return nil }
        return try folder.withLock { try $0?.link(to: file, message: message) }
    }

    // MARK: - Acknowledgement

    /// The callbacks of a message have returned: never again.
    private func handled(_ id: Int64) {
        folder.withLock { $0?.note(id) }
        state.withLock { $0.unacknowledged.append(id) }
        acknowledge()
    }

    /// Tells the service of handled messages, as many at once as have come together.
    func acknowledge() {
        if beginAcknowledging() { requests.async { [self] in sendAcknowledgements() } }
    }

    /// On ``requests``.
    func acknowledgeNow() {
        if beginAcknowledging() { sendAcknowledgements() }
    }

    private func beginAcknowledging() -> Bool {
        state.withLock { state in
            guard !state.isAcknowledging, !state.unacknowledged.isEmpty else { return false }
            state.isAcknowledging = true
            return true
        }
    }

    /// Delivers the rest of them, from whichever thread is about to end the process.
    func acknowledge(until deadline: ContinuousClock.Instant) {
        let left = deadline - .now
        if left > .zero, !state.withLock(\.unacknowledged.isEmpty) { sendAcknowledgements(patience: left) }
    }

    private func sendAcknowledgements(patience: Duration = SessionCore.requestPatience) {
        let ids = state.withLock { state in
            if state.unacknowledged.isEmpty { state.isAcknowledging = false }
            return Array(state.unacknowledged.prefix(Limits.tasksPerRequest))
        }
        guard !ids.isEmpty else { return }
        var isDone = false
        do {
            try connection.notify(
                .acknowledge(MessageAcknowledgement(messages: ids), inSession: identifier), hasty: true,
                patience: patience)
            isDone = true
        } catch {
            // The service sends them again with the next attachment, and they are acknowledged then.
        }
        let hasMore = state.withLock { state in
            state.isAcknowledging = false
            guard isDone else { return false }
            let done = Set(ids)
            state.unacknowledged.removeAll { done.contains($0) }
            state.remember(ids)
            return !state.unacknowledged.isEmpty
        }
        if isDone { folder.withLock { $0?.forget(ids) } }
        if hasMore { acknowledge() }
    }
}

extension SessionCore.State {
    /// More than one connection ever has under way.
    private static let mostAcknowledged = 1_000

    mutating func remember(_ ids: [Int64]) {
        acknowledged = (acknowledged + ids).suffix(Self.mostAcknowledged)
    }
}
