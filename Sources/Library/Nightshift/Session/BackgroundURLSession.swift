import Executors
public import Foundation
public import FoundationNetworking
public import FoundationSessions
import NightshiftAPI
import Synchronization

/// A session whose transfers are done by the Nightshift service, whether this process is running, suspended or ended.
///
/// `URLSession(configuration:delegate:delegateQueue:)` makes a background session if its configuration was made with
/// `URLSessionConfiguration.background(withIdentifier:)`. The declared type of the variable that holds the
/// configuration does not matter. If a later process makes a session with the same identifier, it is connected with the
/// same transfers, and its delegate receives the messages that were missed.
///
/// - There is one session for each identifier. If a process makes it a second time, Apple's warning is printed and the
///   existing session is returned, with its delegate and queue. In a second process, the session and all its tasks fail
///   with `NSURLErrorBackgroundSessionInUseByAnotherProcess`.
/// - The session and its delegate are retained until ``finishTasksAndInvalidate()`` or ``invalidateAndCancel()`` has
///   been called and `urlSession(_:didBecomeInvalidWithError:)` has returned.
/// - You can call the methods on any thread. Delegate methods are called on ``delegateQueue``, one at a time: the next
///   message waits until the method has returned.
/// - Data tasks are loaded in this process and end with it. All other tasks are done by the service.
/// - These delegate methods are never called: `willPerformHTTPRedirection` (redirects are followed),
///   `needNewBodyStream`, `didReceive response` for uploads, `willCacheResponse`, `didFinishCollecting metrics`.
public final class BackgroundURLSession: RemoteURLSession, @unchecked Sendable {
    // Unchecked because its base class is unchecked too. The properties added here are constant.
    let core: SessionCore
    private let queue: OperationQueue

    /// Makes a background session.
    ///
    /// Use this initialiser in files with `import FoundationNetworking` if both the delegate and the queue are optional
    /// variables. In such files, Swift chooses FoundationNetworking's initialiser for
    /// `URLSession(configuration:delegate:delegateQueue:)`, and that initialiser does not support background sessions.
    ///
    /// - Parameter configuration: A configuration made with `URLSessionConfiguration.background(withIdentifier:)`.
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

    /// Makes a background session without a delegate. The app receives no messages about the session's transfers.
    public convenience init(configuration: URLSessionConfiguration) {
        self.init(configuration: configuration, delegate: nil, delegateQueue: nil)
    }

    private init(_ core: SessionCore) {
        self.core = core
        queue = core.delegateQueue
        super.init(delegateQueue: core.delegateQueue)
        begin()
    }

    /// Returns the existing session with the identifier of `configuration`, or a new one.
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
        if identifier.isEmpty { fatalError(SessionRefusal.identifier) }
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

    /// A copy of the configuration that the session was made with.
    public override var configuration: URLSessionConfiguration {
        let copy = core.configuration.independentCopy()
        // Before FoundationNetworking loads a request in this process, it asks the protocol classes. This class stops
        // the request.
        copy.protocolClasses = [InProcessLoading.self]
        return copy
    }

    /// Invalidates the session after its tasks have ended. The delegate's last message is
    /// `urlSession(_:didBecomeInvalidWithError:)` with nil.
    public override func finishTasksAndInvalidate() { core.finishTasksAndInvalidate() }

    /// Cancels every task and invalidates the session. After the delegate has been notified of the end of each task,
    /// its last message is `urlSession(_:didBecomeInvalidWithError:)` with nil.
    public override func invalidateAndCancel() { core.invalidateAndCancel() }

    /// Empties the session's cookie and credential stores, and then flushes the session like
    /// ``flush(completionHandler:)``.
    public override func reset(completionHandler: @escaping () -> Void) {
        core.configuration.httpCookieStorage?.removeCookies(since: .distantPast)
        if let storage = core.configuration.urlCredentialStorage {
            for (space, credentials) in storage.allCredentials {
                for credential in credentials.values { storage.remove(credential, for: space) }
            }
        }
        flush(completionHandler: completionHandler)
    }

    /// Sends the tasks that were never resumed to the service, so that they still exist after a relaunch. Then calls
    /// the handler on the delegate queue.
    public override func flush(completionHandler: @escaping () -> Void) {
        // The handler is called once, on the delegate queue.
        nonisolated(unsafe) let handler = completionHandler
        core.requests.add { [core] in
            core.handOver(until: .now + SessionCore.requestTimeout)
            core.onDelegateQueue { handler() }
        }
    }

    /// Calls the handler on the delegate queue with every task that has not ended. The tasks include those of earlier
    /// processes and those that were never resumed.
    ///
    /// The handler is called when the service has listed its tasks, however long that takes. If the service cannot be
    /// reached, the handler gets the tasks of this process.
    public override func getAllTasks(completionHandler: @escaping ([URLSessionTask]) -> Void) {
        // The handler is called once, on the delegate queue.
        nonisolated(unsafe) let handler = completionHandler
        core.whenAttached(orAway: true) { [core] in
            let tasks: [URLSessionTask] = core.openTasks + core.openDataTasks
            core.onDelegateQueue { handler(tasks) }
        }
    }

    /// Calls the handler with every task that has not ended, separated by kind. In all other respects, this method is
    /// the same as ``getAllTasks(completionHandler:)``.
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

    // MARK: - Creating tasks

    public override func downloadTask(with url: URL) -> URLSessionDownloadTask {
        downloadTask(with: URLRequest(url: url))
    }

    /// Makes a download task. The task is suspended until you call its `resume()` method.
    ///
    /// The service assigns the task's number. For the first task, this method waits up to 2 s while the service is
    /// being started. The method does not wait if the service cannot be reached.
    ///
    /// - Parameter request: A request for an http or https URL. Its body, if it has one, is sent too and may have at
    ///   most 1 MiB. GET and HEAD requests cannot have a body.
    public override func downloadTask(with request: URLRequest) -> URLSessionDownloadTask {
        check(request)
        let task = TaskCore(core, kind: .download, identifier: core.newIdentifier(), request: request)
        return core.add(BackgroundDownloadTask(task))
    }

    /// Makes a download task that continues the cancelled download of `resumeData`. The task is suspended until you
    /// call its `resume()` method.
    ///
    /// If the download cannot be continued, it restarts from the beginning. If this library did not make the resume
    /// data, the task fails with `NSURLErrorUnsupportedURL`, as on Apple's systems.
    public override func downloadTask(withResumeData resumeData: Data) -> URLSessionDownloadTask {
        core.add(BackgroundDownloadTask(task(.download, continuing: resumeData)))
    }

    public override func dataTask(with url: URL) -> URLSessionDataTask { dataTask(with: URLRequest(url: url)) }

    /// Makes a data task. The task is suspended until you call its `resume()` method.
    ///
    /// This process loads the data. As on Apple's systems, the task ends with the app and makes no progress while the
    /// app is suspended. If the transfer must continue without the app, use a download, or answer the response with
    /// `.becomeDownload`. With `.becomeDownload`, the file is requested a second time.
    ///
    /// If a server requires authentication, a data task supports only Basic. For Digest, use a download.
    public override func dataTask(with request: URLRequest) -> URLSessionDataTask {
        check(request)
        return core.dataTask(with: request)
    }

    func upload(continuing resumeData: Data) -> BackgroundUploadTask {
        core.add(BackgroundUploadTask(task(.upload, continuing: resumeData)))
    }

    /// Makes a task that uploads a file. The task is suspended until you call its `resume()` method.
    ///
    /// The service keeps a copy of the file if the file system can clone the file without copying bytes. Otherwise you
    /// must leave the file unchanged until it has been sent.
    ///
    /// After an upload is resumed, its file is kept open until the service has read it, so that you can delete it.
    /// However, if three quarters of the process's file descriptors are in use, the files of further uploads are not
    /// kept open. You must not move or delete these files.
    public override func uploadTask(with request: URLRequest, fromFile fileURL: URL) -> URLSessionUploadTask {
        check(request)
        guard fileURL.isFileURL else { fatalError("Cannot read file at \(fileURL)") }
        let task = TaskCore(
            core, kind: .upload, identifier: core.newIdentifier(), request: request,
            source: URL(filePath: fileURL.absoluteURL.path(percentEncoded: false)))
        return core.add(BackgroundUploadTask(task))
    }

    private func task(_ kind: TaskKind, continuing resumeData: Data) -> TaskCore {
        check(nil)
        let plan = ResumeData(resumeData)
        let request = plan.map { RequestNote($0.note)?.request ?? URLRequest(url: $0.url) }
        let task = TaskCore(core, kind: kind, identifier: core.newIdentifier(), request: request)
        task.goOn(from: plan)
        return task
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

    // MARK: - Methods that background sessions do not support

    public override func dataTask(
        with url: URL, completionHandler: @escaping (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask { fatalError(SessionRefusal.completionHandler) }

    public override func dataTask(
        with request: URLRequest, completionHandler: @escaping (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask { fatalError(SessionRefusal.completionHandler) }

    public override func downloadTask(
        with url: URL, completionHandler: @escaping (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask { fatalError(SessionRefusal.completionHandler) }

    public override func downloadTask(
        with request: URLRequest, completionHandler: @escaping (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask { fatalError(SessionRefusal.completionHandler) }

    public override func downloadTask(
        withResumeData resumeData: Data, completionHandler: @escaping (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask { fatalError(SessionRefusal.completionHandler) }

    public override func uploadTask(
        with request: URLRequest, fromFile fileURL: URL,
        completionHandler: @escaping (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask { fatalError(SessionRefusal.completionHandler) }

    public override func uploadTask(
        with request: URLRequest, from bodyData: Data?,
        completionHandler: @escaping (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask { fatalError(SessionRefusal.completionHandler) }

    public override func uploadTask(with request: URLRequest, from bodyData: Data) -> URLSessionUploadTask {
        fatalError(SessionRefusal.uploadFromData)
    }

    public override func uploadTask(withStreamedRequest request: URLRequest) -> URLSessionUploadTask {
        fatalError(SessionRefusal.uploadFromStream)
    }

    public override func webSocketTask(with url: URL) -> URLSessionWebSocketTask {
        fatalError(SessionRefusal.webSocket)
    }

    public override func webSocketTask(with url: URL, protocols: [String]) -> URLSessionWebSocketTask {
        fatalError(SessionRefusal.webSocket)
    }

    public override func webSocketTask(with request: URLRequest) -> URLSessionWebSocketTask {
        fatalError(SessionRefusal.webSocket)
    }
}

extension BackgroundConfiguration {
    func independentCopy() -> BackgroundConfiguration {
        guard let copy = copy() as? BackgroundConfiguration else {
            preconditionFailure("The copy does not have the type of the original.")
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
