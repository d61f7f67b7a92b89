public import Foundation
public import FoundationNetworking
public import FoundationSessions
import NightshiftAPI
import Synchronization

/// A session whose transfers the Nightshift service carries out, whether this process runs, is suspended or is gone.
///
/// `URLSession(configuration:delegate:delegateQueue:)` makes one where it is given what
/// `URLSessionConfiguration.background(withIdentifier:)` returns, whatever type the variable has that holds it. Made again by a later process with the same identifier, it
/// is connected with the same transfers, and its delegate gets the messages that were missed.
///
/// - One identifier, one session: asked for a second time in a process, it prints Apple's warning, and what comes back is
///   the session that is there, with its delegate and queue. In a second process every task fails with
///   `NSURLErrorBackgroundSessionInUseByAnotherProcess`, and so does the session.
/// - The session and its delegate are held until ``finishTasksAndInvalidate()`` or ``invalidateAndCancel()`` has been called and
///   `urlSession(_:didBecomeInvalidWithError:)` has returned.
/// - Methods may be called on any thread. Delegate methods are called on ``delegateQueue``, one at a time: the next message waits
///   until the method has returned.
/// - Data tasks are loaded in this process and end with it; the service carries out the others.
/// - Delegate methods that are never called here: `willPerformHTTPRedirection` (redirects are followed),
///   `needNewBodyStream`, `didReceive response` for uploads, `willCacheResponse`, `didFinishCollecting metrics`.
public final class BackgroundURLSession: RemoteURLSession, @unchecked Sendable {
    // Unchecked as its base class is: what is added is constant.
    let core: SessionCore
    private let queue: OperationQueue

    /// For whoever wants to see in the source which kind a session is, and for the code that FoundationNetworking's own initialiser
    /// of `URLSession` would get: beside `import FoundationNetworking`, with optional variables for delegate and queue.
    ///
    /// - Parameter configuration: made with `URLSessionConfiguration.background(withIdentifier:)`.
    public init(
        configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?, delegateQueue: OperationQueue?
    ) {
        guard let configuration = configuration as? BackgroundConfiguration else {
            fatalError("A background session needs a configuration made with .background(withIdentifier:).")
        }
        let core = Self.core(configuration, delegate, delegateQueue, .shared)
        self.core = core
        queue = core.delegateQueue
        super.init(delegateQueue: core.delegateQueue)
        begin()
    }

    /// Without a delegate nobody hears of the transfers.
    public convenience init(configuration: URLSessionConfiguration) {
        self.init(configuration: configuration, delegate: nil, delegateQueue: nil)
    }

    private init(_ core: SessionCore) {
        self.core = core
        queue = core.delegateQueue
        super.init(delegateQueue: core.delegateQueue)
        begin()
    }

    /// The session that `configuration` names: the one that is there, or a new one.
    package static func session(
        _ configuration: BackgroundConfiguration, delegate: (any URLSessionDelegate)?, delegateQueue: OperationQueue?,
        connection: ServiceConnection
    ) -> BackgroundURLSession {
        let core = core(configuration, delegate, delegateQueue, connection)
        return core.state.withLock(\.session) ?? BackgroundURLSession(core)
    }

    private static func core(
        _ configuration: BackgroundConfiguration, _ delegate: (any URLSessionDelegate)?, _ queue: OperationQueue?,
        _ connection: ServiceConnection
    ) -> SessionCore {
        let copy = configuration.independentCopy()
        let identifier = copy.identifier ?? ""
        if identifier.isEmpty { fatalError(Refusal.identifier) }
        let (core, isNew) = connection.sessions.session(identifier) {
            let queue = queue ?? OperationQueue.serial()
            return SessionCore(copy, delegate: delegate, delegateQueue: queue, connection: connection)
        }
        if !isNew { Notice.print("A background URLSession with identifier \(identifier) already exists!") }
        return core
    }

    private func begin() {
        let isFirst = core.state.withLock { state in
            guard state.session == nil, !state.machine.life.isOver else { return false }
            state.session = self
            return true
        }
        if isFirst { core.start() }
    }

    // MARK: - The session

    public override var delegate: (any URLSessionDelegate)? { core.delegate }

    public override var delegateQueue: OperationQueue { queue }

    /// A copy of what the session was made with.
    public override var configuration: URLSessionConfiguration {
        let copy = core.configuration.independentCopy()
        // FoundationNetworking looks here before it loads anything in this process.
        copy.protocolClasses = [InProcessLoading.self]
        return copy
    }

    /// Lets the tasks end; then the delegate's last message is `urlSession(_:didBecomeInvalidWithError:)` with nil.
    public override func finishTasksAndInvalidate() { core.finishTasksAndInvalidate() }

    /// Cancels every task; when the delegate has heard of each, its last message is
    /// `urlSession(_:didBecomeInvalidWithError:)` with nil.
    public override func invalidateAndCancel() { core.invalidateAndCancel() }

    /// Empties the session's cookie and credential stores, then does what ``flush(completionHandler:)`` does.
    public override func reset(completionHandler: @escaping () -> Void) {
        core.configuration.httpCookieStorage?.removeCookies(since: .distantPast)
        if let storage = core.configuration.urlCredentialStorage {
            for (space, credentials) in storage.allCredentials {
                for credential in credentials.values { storage.remove(credential, for: space) }
            }
        }
        flush(completionHandler: completionHandler)
    }

    /// Gives the service the tasks that were never resumed, so that they are there after a relaunch; then calls the handler on the
    /// delegate queue.
    public override func flush(completionHandler: @escaping () -> Void) {
        // Called once, on the delegate queue.
        nonisolated(unsafe) let handler = completionHandler
        core.requests.async { [core] in
            core.handOver(until: .now + SessionCore.requestPatience)
            core.onDelegateQueue { handler() }
        }
    }

    /// Every task that has not ended, those of earlier processes and those never resumed included; on the delegate queue.
    ///
    /// Called when the service has said which there are, however long it takes. Where it cannot be reached, these are the tasks of this
    /// process.
    public override func getAllTasks(completionHandler: @escaping ([URLSessionTask]) -> Void) {
        // Called once, on the delegate queue.
        nonisolated(unsafe) let handler = completionHandler
        core.whenAttached(orAway: true) { [core] in
            let tasks: [URLSessionTask] = core.openTasks + core.openDataTasks
            core.onDelegateQueue { handler(tasks) }
        }
    }

    /// As ``getAllTasks(completionHandler:)``, by kind.
    public override func getTasksWithCompletionHandler(
        _ completionHandler: @escaping ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]) -> Void
    ) {
        getAllTasks { tasks in
            completionHandler(
                tasks.compactMap { $0 as? BackgroundDataTask }, tasks.compactMap { $0 as? URLSessionUploadTask },
                tasks.compactMap { $0 as? URLSessionDownloadTask }
            )
        }
    }

    // MARK: - Making tasks

    public override func downloadTask(with url: URL) -> URLSessionDownloadTask {
        downloadTask(with: URLRequest(url: url))
    }

    /// A suspended download. Its number comes from the service: while that is being started for the first one, this waits, 2 s at
    /// most, and not at all where it cannot be reached.
    ///
    /// - Parameter request: for http or https. Its body, of at most 1 MiB, goes along; not with GET and HEAD.
    public override func downloadTask(with request: URLRequest) -> URLSessionDownloadTask {
        check(request)
        let task = TaskCore(core, kind: .download, identifier: core.newIdentifier(), request: request)
        return added(task)
    }

    /// A suspended download that goes on where the one was cancelled that `resumeData` is from.
    ///
    /// Where that is no longer possible it begins again. Data that this library has not made fails with
    /// `NSURLErrorUnsupportedURL`, as on Apple's systems.
    public override func downloadTask(withResumeData resumeData: Data) -> URLSessionDownloadTask {
        check(nil)
        let plan = ResumeData(resumeData)
        let request = plan.map { RequestNote($0.note)?.request ?? URLRequest(url: $0.url) }
        let task = TaskCore(core, kind: .download, identifier: core.newIdentifier(), request: request)
        task.goOn(from: plan)
        return added(task)
    }

    public override func dataTask(with url: URL) -> URLSessionDataTask { dataTask(with: URLRequest(url: url)) }

    /// A suspended data task. This process loads it: it ends with the app, and stands still while that is suspended, as on Apple's
    /// systems. What is to go on is made a download, at the latest by answering its response with `.becomeDownload`; the file is
    /// then asked for again.
    ///
    /// Of the credentials that a server may ask for, it has Basic ones only; for Digest, use a download.
    public override func dataTask(with request: URLRequest) -> URLSessionDataTask {
        check(request)
        return core.dataTask(with: request)
    }

    func upload(continuing resumeData: Data) -> BackgroundUploadTask {
        check(nil)
        let plan = ResumeData(resumeData)
        let request = plan.map { RequestNote($0.note)?.request ?? URLRequest(url: $0.url) }
        let task = TaskCore(core, kind: .upload, identifier: core.newIdentifier(), request: request)
        task.goOn(from: plan)
        return addedUpload(task)
    }

    /// A suspended upload of a file. The service keeps a copy where the file system makes one without copying bytes; elsewhere
    /// the file has to stay as it is until it is sent.
    ///
    /// A resumed upload whose file the service has not read yet keeps it open, so that it may be removed, as long as three quarters of
    /// the descriptors that the process may have are not in use. Files beyond those have to stay where they are.
    public override func uploadTask(with request: URLRequest, fromFile fileURL: URL) -> URLSessionUploadTask {
        check(request)
        guard fileURL.isFileURL else { fatalError("Cannot read file at \(fileURL)") }
        let task = TaskCore(
            core, kind: .upload, identifier: core.newIdentifier(), request: request,
            source: URL(filePath: fileURL.absoluteURL.path(percentEncoded: false)))
        return addedUpload(task)
    }

    private func addedUpload(_ task: TaskCore) -> BackgroundUploadTask {
        guard let upload = core.add(task) as? BackgroundUploadTask else { preconditionFailure("made as an upload") }
        return upload
    }

    private func added(_ task: TaskCore) -> BackgroundDownloadTask {
        guard let download = core.add(task) as? BackgroundDownloadTask else {
            preconditionFailure("made as a download")
        }
        return download
    }

    private func check(_ request: URLRequest?) {
        if core.takesNoTasks { fatalError("Task created in a session that has been invalidated") }
        guard let request else { return }
        guard let scheme = request.url?.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            fatalError(
                "Only http and https URLs are supported in background sessions: "
                    + (request.url?.absoluteString ?? "a request without a URL"))
        }
    }

    // MARK: - What background sessions refuse

    public override func dataTask(
        with url: URL, completionHandler: @escaping (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask { fatalError(Refusal.completionHandler) }

    public override func dataTask(
        with request: URLRequest, completionHandler: @escaping (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask { fatalError(Refusal.completionHandler) }

    public override func downloadTask(
        with url: URL, completionHandler: @escaping (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask { fatalError(Refusal.completionHandler) }

    public override func downloadTask(
        with request: URLRequest, completionHandler: @escaping (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask { fatalError(Refusal.completionHandler) }

    public override func downloadTask(
        withResumeData resumeData: Data, completionHandler: @escaping (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask { fatalError(Refusal.completionHandler) }

    public override func uploadTask(
        with request: URLRequest, fromFile fileURL: URL,
        completionHandler: @escaping (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask { fatalError(Refusal.completionHandler) }

    public override func uploadTask(
        with request: URLRequest, from bodyData: Data?,
        completionHandler: @escaping (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask { fatalError(Refusal.completionHandler) }

    public override func uploadTask(with request: URLRequest, from bodyData: Data) -> URLSessionUploadTask {
        fatalError(Refusal.uploadFromData)
    }

    public override func uploadTask(withStreamedRequest request: URLRequest) -> URLSessionUploadTask {
        fatalError(Refusal.uploadFromStream)
    }

    public override func webSocketTask(with url: URL) -> URLSessionWebSocketTask { fatalError(Refusal.webSocket) }

    public override func webSocketTask(with url: URL, protocols: [String]) -> URLSessionWebSocketTask {
        fatalError(Refusal.webSocket)
    }

    public override func webSocketTask(with request: URLRequest) -> URLSessionWebSocketTask {
        fatalError(Refusal.webSocket)
    }
}

extension BackgroundConfiguration {
    func independentCopy() -> BackgroundConfiguration {
        guard let copy = copy() as? BackgroundConfiguration else {
            preconditionFailure("a copy has its original's type")
        }
        return copy
    }
}

extension OperationQueue {
    fileprivate static func serial() -> OperationQueue {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.name = "nightshift.delegate"
        return queue
    }
}
