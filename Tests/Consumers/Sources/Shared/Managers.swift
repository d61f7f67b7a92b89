import Foundation
import Harness
import Nightshift

#if canImport(FoundationNetworking) && BESIDE
    import FoundationNetworking
#endif

// Classes in which apps manage their transfers.

/// The listing of Apple's article, with a closure that makes the session when it is needed.
private final class ArticleController: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    let saved = Outcome<String>("a saved file")

    private lazy var urlSession: URLSession = {
        let configuration = URLSessionConfiguration.background(withIdentifier: Origin.identifier("article"))
        configuration.isDiscretionary = false
        configuration.sessionSendsLaunchEvents = true
        return URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    }()

    func start() {
        let backgroundTask = urlSession.downloadTask(with: Origin.file("article"))
        backgroundTask.countOfBytesClientExpectsToSend = 200
        backgroundTask.countOfBytesClientExpectsToReceive = 500 * 1024
        backgroundTask.resume()
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        guard let httpResponse = downloadTask.response as? HTTPURLResponse,
            (200...299).contains(httpResponse.statusCode)
        else { return }
        let savedURL = FileManager.default.temporaryDirectory.appendingPathComponent(location.lastPathComponent)
        try? FileManager.default.moveItem(at: location, to: savedURL)
        saved.give((try? String(contentsOf: savedURL, encoding: .utf8)) ?? "no file")
        try? FileManager.default.removeItem(at: savedURL)
        session.finishTasksAndInvalidate()
    }
}

/// A singleton with a dictionary of handlers by task.
private final class DownloadManager: NSObject, @unchecked Sendable {
    static let shared = DownloadManager()

    typealias Handler = (Result<String, Error>) -> Void

    private var session: URLSession!
    private var handlers: [Int: Handler] = [:]
    private let lock = NSLock()

    private override init() {
        super.init()
        let config = URLSessionConfiguration.background(withIdentifier: Origin.identifier("manager"))
        config.httpMaximumConnectionsPerHost = 3
        session = URLSession(configuration: config, delegate: self, delegateQueue: OperationQueue())
    }

    @discardableResult
    func download(_ url: URL, handler: @escaping Handler) -> URLSessionDownloadTask {
        let task = session.downloadTask(with: url)
        lock.lock()
        handlers[task.taskIdentifier] = handler
        lock.unlock()
        task.resume()
        return task
    }

    private func take(_ task: URLSessionTask) -> Handler? {
        lock.lock()
        defer { lock.unlock() }
        return handlers.removeValue(forKey: task.taskIdentifier)
    }
}

extension DownloadManager: URLSessionDownloadDelegate {
    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        take(downloadTask)?(Result { try String(contentsOf: location, encoding: .utf8) })
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: Error?) {
        if let error { take(task)?(.failure(error)) }
    }
}

extension DownloadManager: URLSessionBackgroundDelegate {
    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {}
}

/// A class that receives its session, and reads its configuration.
private final class Client {
    let session: URLSession
    var identifier: String? { session.configuration.identifier }

    init(session: URLSession) {
        self.session = session
    }
}

/// A struct that makes sessions with a closure from its caller.
private struct SessionFactory {
    var make: (URLSessionConfiguration, URLSessionDelegate) -> URLSession = {
        URLSession(configuration: $0, delegate: $1, delegateQueue: nil)
    }
}

/// An actor that wraps a delegate in continuations.
private actor Library {
    private let listener = Listener()
    private lazy var session = URLSession(
        configuration: .background(withIdentifier: Origin.identifier("library")), delegate: listener,
        delegateQueue: nil)

    func text(of name: String) async throws -> String {
        session.downloadTask(with: Origin.file(name)).resume()
        defer { session.finishTasksAndInvalidate() }
        return try await listener.text.value()
    }
}

/// A delegate that offers the progress of a task as a stream.
private final class ProgressDelegate: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    let continuation: AsyncStream<Double>.Continuation

    init(_ continuation: AsyncStream<Double>.Continuation) {
        self.continuation = continuation
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        continuation.yield(Double(totalBytesWritten) / Double(totalBytesExpectedToWrite))
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: Error?) {
        continuation.finish()
        session.finishTasksAndInvalidate()
    }
}

func managers() async {
    await situation("Apple's article") {
        let controller = ArticleController()
        controller.start()
        try expectEqual(try await controller.saved.value(), Origin.text(of: "article"))
    }
    await situation("a singleton with handlers, several transfers at once") {
        let names = (1...8).map { "manager-\($0)" }
        let outcomes = names.map { Outcome<String>($0) }
        for (name, outcome) in zip(names, outcomes) {
            DownloadManager.shared.download(Origin.file(name)) { result in
                outcome.give((try? result.get()) ?? "an error")
            }
        }
        for (name, outcome) in zip(names, outcomes) {
            try expectEqual(try await outcome.value(), Origin.text(of: name))
        }
    }
    await situation("a dispatch group that waits for transfers") {
        let group = DispatchGroup()
        for number in 1...3 {
            group.enter()
            DownloadManager.shared.download(Origin.file("group-\(number)")) { _ in group.leave() }
        }
        let done = Outcome<Bool>("the end of the group")
        group.notify(queue: .global()) { done.give(true) }
        _ = try await done.value()
    }
    await situation("a continuation around a handler, two at once") {
        @Sendable func text(_ name: String) async throws -> String {
            try await withCheckedThrowingContinuation { continuation in
                DownloadManager.shared.download(Origin.file(name)) { continuation.resume(with: $0) }
            }
        }
        async let first = text("async-1")
        async let second = text("async-2")
        let texts = try await (first, second)
        try expectEqual(texts.0, Origin.text(of: "async-1"))
        try expectEqual(texts.1, Origin.text(of: "async-2"))
    }
    await situation("a task that is cancelled through its manager") {
        let code = Outcome<Int>("the cancelled task's error")
        let task = DownloadManager.shared.download(Origin.endless("manager-cancelled")) { result in
            if case .failure(let error) = result { code.give((error as NSError).code) }
        }
        task.cancel()
        try expectEqual(try await code.value(), NSURLErrorCancelled)
    }
    await situation("a session that is passed to an initialiser") {
        let listener = Listener()
        let client = Client(
            session: URLSession(
                configuration: .background(withIdentifier: Origin.identifier("handed-in")), delegate: listener,
                delegateQueue: nil))
        try expectEqual(client.identifier, Origin.identifier("handed-in"))
        try await fetches(client.session, listener)
    }
    await situation("a factory that is a closure") {
        let listener = Listener()
        let session = SessionFactory().make(
            .background(withIdentifier: Origin.identifier("factory")), listener)
        try await fetches(session, listener)
    }
    await situation("an actor with a lazy session") {
        try expectEqual(try await Library().text(of: "library"), Origin.text(of: "library"))
    }
    await situation("progress as an asynchronous stream") {
        let (progress, continuation) = AsyncStream<Double>.makeStream()
        let session = URLSession(
            configuration: .background(withIdentifier: Origin.identifier("stream")),
            delegate: ProgressDelegate(continuation), delegateQueue: nil)
        session.downloadTask(with: Origin.file("stream")).resume()
        var last = 0.0
        for await fraction in progress { last = fraction }
        try expectEqual(last, 1)
    }
}
