import Foundation
import FoundationNetworking
import NightshiftAPI
import Synchronization

/// An object that loads the data tasks of one background session with a session of FoundationNetworking. It passes the
/// callbacks of FoundationNetworking to the app's delegate.
///
/// FoundationNetworking calls this object on the loader's own queue, one callback at a time. The next callback waits
/// until the app's delegate has returned. After a response, callbacks wait until the app has decided about the body.
final class DataTaskLoader: NSObject, URLSessionDataDelegate, Sendable {
    private let core: SessionCore
    private let queue = OperationQueue()
    private let state = Mutex(State())

    private struct State {
        var session: URLSession?
        var isInvalid = false
        /// The loads by the task identifiers of FoundationNetworking.
        var loads: [Int: Load] = [:]
    }

    init(_ core: SessionCore) {
        self.core = core
        queue.maxConcurrentOperationCount = 1
        queue.name = "nightshift.data-tasks"
    }

    func begin(_ task: BackgroundDataTask) {
        var request = task.content.withLock(\.request)
        // The additional fields are set on each request. If they were set in the configuration, FoundationNetworking
        // would also send them after redirects to other origins.
        for field in core.configuration.additionalFields
        where !field.isHarmless && request.value(forHTTPHeaderField: field.name) == nil {
            request.setValue(field.value, forHTTPHeaderField: field.name)
        }
        begin(task, request, hasOwnCookies: request.value(forHTTPHeaderField: "Cookie") != nil)
    }

    private func begin(_ task: BackgroundDataTask, _ request: URLRequest, hasOwnCookies: Bool) {
        var request = hasOwnCookies ? request : core.configuration.withStoredCookies(request)
        // FoundationNetworking converts the timeout to an integer of milliseconds, and traps if the number overflows.
        if request.timeoutInterval != request.finiteTimeout { request.timeoutInterval = request.finiteTimeout }
        let loading = state.withLock { [request] state -> URLSessionDataTask? in
            // FoundationNetworking traps if an invalidated session gets a new task.
            guard !state.isInvalid else { return nil }
            let session = state.session ?? makeSession()
            state.session = session
            let loading = session.dataTask(with: request)
            state.loads[loading.taskIdentifier] = Load(task, hasOwnCookies: hasOwnCookies)
            return loading
        }
        guard let loading else {
            return queue.addOperation { [core] in core.ended(task, error: URLError.cancelled(task)) }
        }
        // The task may have been cancelled before its load was created. In that case, the load is stopped here.
        if !task.take(loading) { stop(loading) }
    }

    private func makeSession() -> URLSession {
        URLSession(
            configuration: core.configuration.inProcess, delegate: self as (any URLSessionDelegate)?,
            delegateQueue: queue)
    }

    /// Cancels the task, in any state, and ends it with the error for cancelled tasks.
    func cancel(_ task: BackgroundDataTask) {
        queue.addOperation { [self] in
            if let loading = task.content.withLock(\.loading) { stop(loading) }
            core.ended(task, error: URLError.cancelled(task))
        }
    }

    /// Stops all loads. FoundationNetworking then releases this object.
    func invalidate() {
        let session = state.withLock { state in
            state.loads = [:]
            state.isInvalid = true
            return state.session
        }
        session?.invalidateAndCancel()
    }

    private func load(_ loading: URLSessionTask) -> Load? {
        state.withLock { $0.loads[loading.taskIdentifier] }
    }

    /// Removes a load, so that later callbacks about it are ignored.
    private func drop(_ loading: URLSessionTask) {
        state.withLock { _ = $0.loads.removeValue(forKey: loading.taskIdentifier) }
    }

    // MARK: - The response and its body

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @Sendable @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        completionHandler(.allow)
        guard let load = load(dataTask) else { return }
        storeCookies(response, of: load.task)
        if let answer = response as? HTTPURLResponse, answer.statusCode == 401 {
            // FoundationNetworking asks for credentials after the body. Apple's systems ask before the response, so the
            // response is not passed to the app yet.
            load.held = (answer, Data())
        } else {
            present(response, of: load)
            load.rest = response.unheededLength(for: dataTask.currentRequest)
            if load.rest == 0 { finish(load, stopping: dataTask) }
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard let load = load(dataTask) else { return }
        if load.held == nil { deliver(.data(load.piece(of: data)), of: load) } else { load.held?.body.append(data) }
        if load.rest == 0 { finish(load, stopping: dataTask) }
    }

    /// Finishes a load whose body is complete. FoundationNetworking would still wait for the connection to close.
    private func finish(_ load: Load, stopping loading: URLSessionTask) {
        stop(loading)
        deliver(.end(nil), of: load)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        guard let own = load(task)?.task else { return }
        own.count { content in
            content.sent = totalBytesSent
            content.expectedToSend = totalBytesExpectedToSend
        }
        core.callDelegate { session, delegate in
            (delegate as? any URLSessionTaskDelegate)?.urlSession(
                session, task: own, didSendBodyData: bytesSent, totalBytesSent: totalBytesSent,
                totalBytesExpectedToSend: totalBytesExpectedToSend)
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let load = load(task) else { return }
        if error == nil { showHeld(load) }
        if error == nil, let rest = load.rest, rest > 0 {
            let words = "The connection was closed before the last \(rest) bytes arrived."
            let url = task.currentRequest?.url
            return deliver(.end(URLError.make(NSURLErrorNetworkConnectionLost, words, url: url)), of: load)
        }
        deliver(.end(error), of: load)
    }

    /// Passes the response to the app, which decides about the body. Later callbacks wait for the app's decision.
    private func present(_ response: URLResponse, of load: Load) {
        let task = load.task
        load.isDeciding = true
        task.count { content in
            content.response = response
            content.expectedToReceive = response.expectedContentLength
        }
        let reply = DispositionReply { [self] disposition in
            queue.addOperation { [self] in decided(disposition, load) }
        }
        core.callDelegate { session, delegate in
            (delegate as? any URLSessionDataDelegate)?.urlSession(session, dataTask: task, didReceive: response) {
                reply.resolve($0)
            }
        }
    }

    private func decided(_ disposition: URLSession.ResponseDisposition, _ load: Load) {
        // The task has ended or is about to end, so the decision is too late.
        guard load.task.content.withLock(\.control.isOpen) else { return }
        let pending = load.pending
        (load.isDeciding, load.pending) = (false, [])
        let loading = load.task.content.withLock(\.loading)
        switch disposition {
        case .cancel:
            if let loading { stop(loading) }
            core.ended(load.task, error: URLError.cancelled(load.task))
        case .becomeDownload:
            if let loading { stop(loading) }
            becomeDownload(load.task)
        default: for message in pending { deliver(message, of: load) }
        }
    }

    private func stop(_ loading: URLSessionTask) {
        drop(loading)
        loading.cancel()
    }

    private func deliver(_ message: Load.Message, of load: Load) {
        switch message {
        case .end(let error?): end(load, error)
        case _ where load.isDeciding: load.pending.append(message)
        case .end(nil): end(load, nil)
        case .data(let data):
            guard !data.isEmpty else { return }
            let task = load.task
            task.count { $0.received += Int64(data.count) }
            core.callDelegate { session, delegate in
                (delegate as? any URLSessionDataDelegate)?.urlSession(session, dataTask: task, didReceive: data)
            }
        }
    }

    private func end(_ load: Load, _ error: (any Error)?) {
        if let loading = load.task.content.withLock(\.loading) { drop(loading) }
        load.pending = []
        core.ended(load.task, error: error)
    }

    /// Turns a data task into a download. The service loads the file with a new request, because a download must
    /// survive this process.
    private func becomeDownload(_ task: BackgroundDataTask) {
        let request = task.content.withLock { content -> URLRequest? in
            guard content.control.isOpen, content.control.end() else { return nil }
            content.loading = nil
            return content.request
        }
        // The task was just cancelled if it has no request. In that case, the cancellation ends the task.
        guard let request else { return }
        let download = core.add(
            BackgroundDownloadTask(
                TaskCore(core, kind: .download, identifier: core.newIdentifier(), request: request)))
        core.callDelegate { session, delegate in
            (delegate as? any URLSessionDataDelegate)?.urlSession(session, dataTask: task, didBecome: download)
        }
        core.forget(task)
        download.resume()
    }

    // MARK: - Redirects, cookies and challenges

    /// Removes the fields that are not known to be harmless before a redirect to another origin. FoundationNetworking
    /// would keep all fields. The request for each URL gets the cookies that the storage has for that URL at that time.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @Sendable @escaping (URLRequest?) -> Void
    ) {
        let load = self.load(task)
        if let load { storeCookies(response, of: load.task) }
        var moved = request
        if !response.isOfOneOrigin(with: request) {
            for (name, value) in request.allHTTPHeaderFields ?? [:]
            where !HeaderField(name: name, value: value).isHarmless {
                moved.setValue(nil, forHTTPHeaderField: name)
            }
            load?.hasOwnCookies = false
        }
        completionHandler(load?.hasOwnCookies == true ? moved : core.configuration.withStoredCookies(moved))
    }

    /// Stores the response's cookies. FoundationNetworking does not store them, because its cookie parser traps on some
    /// values that servers send.
    private func storeCookies(_ response: URLResponse, of task: BackgroundDataTask) {
        guard let answer = response as? HTTPURLResponse, let url = answer.url?.absoluteString,
            let text = answer.value(forHTTPHeaderField: "Set-Cookie")
        else { return }
        core.store(SetCookie.fields(joined: text).map { SetCookie(url: url, value: $0) }, of: task)
    }

    /// Handles a challenge instead of FoundationNetworking, which traps on Digest challenges and hangs on default
    /// handling. If a credential is available, the request is sent again with the credential. Otherwise, the 401
    /// response becomes the task's response.
    func urlSession(
        _ session: URLSession, task loading: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @Sendable @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard let load = load(loading) else { return }
        // This request was sent to the server that sent the challenge. After a redirect, it may differ from the app's
        // request.
        let challenged = loading.currentRequest
        stop(loading)
        let task = load.task
        let space = challenge.protectionSpace
        guard space.authenticationMethod == NSURLAuthenticationMethodHTTPBasic else { return finish(load) }
        let refusals = task.content.withLock { content in
            defer { content.refusals += 1 }
            return content.refusals
        }
        let proposed = core.configuration.urlCredentialStorage?.defaultCredential(matching: space)
        let reply = ChallengeReply { [self] disposition, credential in
            queue.addOperation { [self] in
                switch disposition {
                case .useCredential:
                    if let credential { retry(load, challenged, credential) } else { finish(load) }
                case .performDefaultHandling:
                    if let proposed, refusals == 0 { retry(load, challenged, proposed) } else { finish(load) }
                case .cancelAuthenticationChallenge: core.ended(task, error: URLError.cancelled(task))
                default: finish(load)
                }
            }
        }
        let asked = URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: proposed, previousFailureCount: refusals,
            failureResponse: load.held?.response ?? challenge.failureResponse, error: nil, sender: reply)
        guard core.delegate is any URLSessionTaskDelegate else { return reply.resolve(.performDefaultHandling, nil) }
        core.callDelegate { session, delegate in
            (delegate as? any URLSessionTaskDelegate)?.urlSession(session, task: task, didReceive: asked) {
                reply.resolve($0, $1)
            }
        }
    }

    private func retry(_ load: Load, _ challenged: URLRequest?, _ credential: URLCredential) {
        guard load.task.content.withLock(\.control.isOpen) else {
            return core.ended(load.task, error: URLError.cancelled(load.task))
        }
        var request = challenged ?? load.task.content.withLock(\.request)
        let words = Data("\(credential.user ?? ""):\(credential.password ?? "")".utf8)
        request.setValue("Basic \(words.base64EncodedString())", forHTTPHeaderField: "Authorization")
        begin(load.task, request, hasOwnCookies: load.hasOwnCookies)
    }

    /// Finishes the task with the 401 response as its result.
    private func finish(_ load: Load) {
        guard load.task.content.withLock(\.control.isOpen) else { return }
        showHeld(load)
        deliver(.end(nil), of: load)
    }

    private func showHeld(_ load: Load) {
        guard let held = load.held else { return }
        load.held = nil
        present(held.response, of: load)
        deliver(.data(held.body), of: load)
    }
}

/// The load of one task. After the load is added to the loader's list, it is used only on the loader's queue.
private final class Load: @unchecked Sendable {
    let task: BackgroundDataTask
    /// Whether the app set the `Cookie` field itself and that field is still sent. If this value is true, the storage's
    /// cookies are not added.
    var hasOwnCookies: Bool
    /// Whether the app has not decided about the body yet.
    var isDeciding = false
    /// The callbacks that arrived before the app's decision.
    var pending: [Message] = []
    /// A 401 response with its body. The app gets this response only if there is no credential for the challenge.
    var held: (response: HTTPURLResponse, body: Data)?
    /// The number of missing bytes of a body whose length FoundationNetworking ignores. The number is nil for other
    /// bodies.
    var rest: Int64?

    /// Returns the bytes of `data` that belong to the body.
    func piece(of data: Data) -> Data {
        guard let rest else { return data }
        let piece = data.prefix(Int(min(rest, Int64(data.count))))
        self.rest = rest - Int64(piece.count)
        return piece
    }

    enum Message {
        case data(Data)
        case end((any Error)?)
    }

    init(_ task: BackgroundDataTask, hasOwnCookies: Bool) {
        self.task = task
        self.hasOwnCookies = hasOwnCookies
    }
}

extension URLResponse {
    /// Returns the length of the response's body if FoundationNetworking would read until the connection closes. This
    /// happens because libcurl ignores `Content-Length` if there is a `Transfer-Encoding`, even if the transfer coding
    /// does not change the body.
    fileprivate func unheededLength(for request: URLRequest?) -> Int64? {
        guard let answer = self as? HTTPURLResponse, let coding = answer.value(forHTTPHeaderField: "Transfer-Encoding"),
            // For a body with a content coding, libcurl delivers decoded bytes, so their number does not match the
            // length.
            answer.value(forHTTPHeaderField: "Content-Encoding") == nil
        else { return nil }
        let framing = ResponseFraming(
            status: answer.statusCode, method: request?.httpMethod ?? "GET", httpVersion: "1.1",
            lengths: [answer.value(forHTTPHeaderField: "Content-Length")].compactMap(\.self), codings: [coding])
        guard case .length(let length) = framing else { return nil }
        return length
    }

    fileprivate func isOfOneOrigin(with request: URLRequest) -> Bool {
        guard let own = url, let other = request.url else { return false }
        return TransferURL.areOfOneOrigin(own.absoluteString, other.absoluteString)
    }
}

extension URLError {
    fileprivate static func cancelled(_ task: BackgroundDataTask) -> URLError {
        make(NSURLErrorCancelled, "cancelled", url: task.originalRequest?.url)
    }
}

extension BackgroundConfiguration {
    /// The configuration for loading data tasks in this process. It has the properties that FoundationNetworking
    /// supports.
    fileprivate var inProcess: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.default
        configuration.requestCachePolicy = requestCachePolicy
        configuration.timeoutIntervalForRequest = timeoutIntervalForRequest.limited(
            to: 0...Limits.longestTimeout, or: 60)
        configuration.timeoutIntervalForResource = timeoutIntervalForResource.limited(
            to: 0...Limits.longestTimeout, or: Limits.longestTimeout)
        configuration.networkServiceType = networkServiceType
        // The library reads and sends cookies itself. If FoundationNetworking were allowed to accept cookies, it would
        // parse them, and its parser can trap.
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.httpCookieStorage = nil
        configuration.httpAdditionalHeaders = Dictionary(
            additionalFields.filter(\.isHarmless).map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        configuration.httpMaximumConnectionsPerHost = min(max(1, httpMaximumConnectionsPerHost), 64)
        // The library looks up credentials itself, and a background session has no cache.
        configuration.urlCredentialStorage = nil
        configuration.urlCache = nil
        return configuration
    }
}

/// An object that accepts the app's decision about a response. The decision can be given only once.
/// FoundationNetworking's default implementation of the delegate method releases the handler without calling it. A
/// released handler counts as ``URLSession/ResponseDisposition/allow``.
private final class DispositionReply: Sendable {
    private struct State {
        var take: (@Sendable (URLSession.ResponseDisposition) -> Void)?
    }

    private let state: Mutex<State>

    init(_ take: @escaping @Sendable (URLSession.ResponseDisposition) -> Void) { state = Mutex(State(take: take)) }

    func resolve(_ disposition: URLSession.ResponseDisposition) {
        let take = state.withLock { state in
            defer { state.take = nil }
            return state.take
        }
        take?(disposition)
    }

    deinit { resolve(.allow) }
}
