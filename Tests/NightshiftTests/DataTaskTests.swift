import Foundation
import Nightshift
import NightshiftAPI
import TestSupport
import Testing

/// Tests of data tasks of background sessions, which end with the process (row T1).
@Suite struct DataTaskTests {
    private let world: World
    private let origin: OriginServer

    init() throws {
        world = try World()
        origin = try OriginServer()
    }

    private func request(_ path: String) -> URLRequest { URLRequest(url: url(origin.url(path))) }

    @Test func `T1: A data task delivers response, data and end to the session's delegate, in order`() async throws {
        origin.serve("/hello", .text("hello"))
        let delegate = ResponseRecorder()
        let session = world.process().session(delegate)
        let download = session.downloadTask(with: url())
        let task = session.dataTask(with: request("/hello"))
        #expect(task.taskIdentifier == 2 && task.state == .suspended && download.taskIdentifier == 1)
        let (data, uploads, downloads) = await session.tasks
        #expect(data.map(\.taskIdentifier) == [2] && uploads.isEmpty && downloads.map(\.taskIdentifier) == [1])
        #expect(data.first === task)
        #expect(await session.allTasks.map(\.taskIdentifier).sorted() == [1, 2])
        task.resume()
        #expect(try await delegate.heard.are(["2 response 200", "2 received 'hello'", "2 completed"]))
        #expect(task.state == .completed && task.error == nil && task.countOfBytesReceived == 5)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(await session.tasks.0.isEmpty)
        // The service knows nothing about the task.
        #expect(world.service.state.read { $0.requests.isEmpty })
        #expect(session.downloadTask(with: url()).taskIdentifier == 3)
    }

    @Test func `T1: One resume starts a data task, even if its progress was paused repeatedly`() async throws {
        origin.serve("/hello", .text("hello"))
        let delegate = Recorder()
        let task = world.process().session(delegate).dataTask(with: request("/hello"))
        for _ in 1...3 { task.progress.pause() }
        task.progress.resume()
        task.resume()
        #expect(try await delegate.heard.are(["1 received 'hello'", "1 completed"]))
    }

    @Test func `T1: A data task without a timeout loads`() async throws {
        await #expect(processExitsWith: .success) {
            let world = try World()
            let origin = try OriginServer()
            origin.serve("/hello", .text("hello"))
            let delegate = Recorder()
            let session = world.process().session(delegate) { $0.timeoutIntervalForRequest = .infinity }
            session.dataTask(with: URLRequest(url: url(origin.url("/hello")), timeoutInterval: .infinity)).resume()
            try await delegate.heard.wait(for: "the end") { $0.last == "1 completed" }
        }
    }

    @Test func `T1: A delegate without a response method still gets the data`() async throws {
        origin.serve("/hello", .text("hello"))
        let delegate = Recorder()
        world.process().session(delegate).dataTask(with: request("/hello")).resume()
        #expect(try await delegate.heard.are(["1 received 'hello'", "1 completed"]))
    }

    @Test func `T1: A data task whose response the app cancels ends as cancelled, without a body`() async throws {
        origin.serve("/hello", .text("hello"))
        let delegate = ResponseRecorder { _ in .cancel }
        let task = world.process().session(delegate).dataTask(with: request("/hello"))
        task.resume()
        #expect(try await delegate.heard.are(["1 response 200", "1 completed -999"]))
        #expect(task.state == .completed)
    }

    @Test func `T1: A data task delivers its body only after the app has decided about the response`() async throws {
        origin.serve("/hello", .text("hello"))
        let delegate = ResponseRecorder { _ in nil }
        world.process().session(delegate).dataTask(with: request("/hello")).resume()
        try await delegate.handlers.wait(for: "the handler") { $0.count == 1 }
        let second = ResponseRecorder()
        world.process().session(second, identifier: "other").dataTask(with: request("/hello")).resume()
        try await second.heard.wait(for: "another's end") { $0.last == "1 completed" }
        #expect(delegate.heard.read { $0 } == ["1 response 200"])
        delegate.handlers.update { handlers in
            for handler in handlers { handler(.allow) }
            handlers = []
        }
        #expect(try await delegate.heard.are(["1 response 200", "1 received 'hello'", "1 completed"]))
    }

    @Test func `T1: A data task can become a download that the service performs`() async throws {
        origin.serve("/hello", .text("hello"))
        let delegate = ResponseRecorder { _ in .becomeDownload }
        let session = world.process().session(delegate)
        session.dataTask(with: request("/hello")).resume()
        try await delegate.heard.wait(for: "the download") { $0.last == "1 became 2" }
        try await world.service.state.wait(for: "the task") { $0.requests[2]?.request.suspended == false }
        #expect(world.service.state.read { $0.requests[2]?.request.url } == origin.url("/hello"))
        try world.service.end(2)
        #expect(
            try await delegate.heard.are([
                "1 response 200", "1 became 2", "2 finished 'content'", "2 completed",
            ]))
    }

    @Test func `T8: A body ends at its Content-Length, even with Transfer-Encoding identity`()
        async throws
    {
        origin.serve("/whole", .text("hello"))
        origin.serve("/empty", .text(""))
        origin.serve("/cut", .text("hello"))
        let identity = Behaviour.field("Transfer-Encoding", "identity")
        for path in ["/whole", "/empty"] { origin.setBehaviours([identity], for: path) }
        origin.setBehaviours([identity, .cutAfter(2)], for: "/cut")
        for (path, words) in [
            ("/whole", ["1 response 200", "1 received 'hello'", "1 completed"]),
            ("/empty", ["1 response 200", "1 completed"]),
        ] {
            let delegate = ResponseRecorder()
            world.process().session(delegate, identifier: path).dataTask(with: request(path)).resume()
            #expect(try await delegate.heard.are(words), "\(path)")
        }
        // FoundationNetworking may or may not deliver the data that arrived before the break.
        let delegate = ResponseRecorder()
        world.process().session(delegate, identifier: "/cut").dataTask(with: request("/cut")).resume()
        try await delegate.heard.wait(for: "the end") { $0.last?.hasPrefix("1 completed") == true }
        let heard = delegate.heard.read { $0 }
        #expect(heard.first == "1 response 200" && heard.last == "1 completed -1005", "\(heard)")
    }

    @Test func `T1: A data task reports a refused connection and a cancellation as errors`() async throws {
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let address = origin.url("/nothing")
        origin.stopListening()
        session.dataTask(with: url(address)).resume()
        #expect(try await delegate.heard.are(["1 completed -1004"]))
        let task = session.dataTask(with: url(address))
        task.cancel()
        #expect(try await delegate.heard.are(["1 completed -1004", "2 completed -999"]))
        #expect(task.state == .completed)
    }

    /// Creates a session whose app does something the next time a load begins.
    private func session(_ delegate: any URLSessionDelegate, _ value: ValueInUse) async -> BackgroundURLSession {
        let session = world.process().session(delegate) { $0.httpAdditionalHeaders = ["X-Name": value] }
        // When this call returns, the service has the header fields.
        _ = await session.allTasks
        return session
    }

    @Test func `T1: A data task cancelled while its load begins ends once and loads no bytes`() async throws {
        origin.serve("/hello", .text("hello"))
        let (delegate, value) = (ResponseRecorder(), ValueInUse())
        let session = await session(delegate, value)
        let task = session.dataTask(with: request("/hello"))
        value.whenUsed { task.cancel() }
        task.resume()
        try await delegate.heard.wait(for: "the end") { !$0.isEmpty }
        session.dataTask(with: request("/hello")).resume()
        #expect(
            try await delegate.heard.are([
                "1 completed -999", "2 response 200", "2 received 'hello'", "2 completed",
            ]))
    }

    @Test func `T1: A data task suspended and resumed while its load begins loads once`() async throws {
        origin.serve("/hello", .text("hello"))
        let (delegate, value) = (ResponseRecorder(), ValueInUse())
        let session = await session(delegate, value)
        let task = session.dataTask(with: request("/hello"))
        value.whenUsed {
            task.suspend()
            task.resume()
        }
        task.resume()
        try await delegate.heard.wait(for: "the end") { $0.contains("1 completed") }
        session.dataTask(with: request("/hello")).resume()
        #expect(
            try await delegate.heard.are([
                "1 response 200", "1 received 'hello'", "1 completed", "2 response 200", "2 received 'hello'",
                "2 completed",
            ]))
    }

    @Test func `T1: An invalidated session ends its data tasks, then itself`() async throws {
        origin.serve("/held", .text("hello", .stallAfter(1)))
        let delegate = Recorder()
        let session = world.process().session(delegate)
        session.dataTask(with: request("/held")).resume()
        // The delegate must receive the data that has arrived so far.
        try await delegate.heard.wait(for: "the first byte") { $0 == ["1 received 'h'"] }
        session.invalidateAndCancel()
        #expect(try await delegate.heard.are(["1 received 'h'", "1 completed -999", "invalid"]))
    }

    // MARK: - Credentials

    @Test func `T7: A data task asks for Basic credentials before it delivers the response, and uses them`()
        async throws
    {
        origin.serve("/secret", .text("hello", .requireBasic(user: "ada", password: "abc")))
        let delegate = Recorder(onChallenge: { challenge in
            #expect(challenge.previousFailureCount == 0 && challenge.protectionSpace.host == "127.0.0.1")
            #expect((challenge.failureResponse as? HTTPURLResponse)?.statusCode == 401)
            return (.useCredential, URLCredential(user: "ada", password: "abc", persistence: .none))
        })
        world.process().session(delegate).dataTask(with: request("/secret")).resume()
        #expect(
            try await delegate.heard.are([
                "1 challenged by NSURLAuthenticationMethodHTTPBasic", "1 received 'hello'", "1 completed",
            ]))
    }

    @Test func `T12: A task with default handling uses the default credential of the storage`()
        async throws
    {
        origin.serve("/secret", .text("hello", .requireBasic(user: "ada", password: "abc")))
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(
            URLCredential(user: "ada", password: "abc", persistence: .forSession),
            for: URLProtectionSpace(
                host: "127.0.0.1", port: Int(origin.port), protocol: NSURLProtectionSpaceHTTP, realm: "origin",
                authenticationMethod: NSURLAuthenticationMethodDefault))
        let proposed = Watched<[String?]>([])
        let delegate = Recorder(onChallenge: { challenge in
            proposed.update { $0.append(challenge.proposedCredential?.user) }
            return (.performDefaultHandling, nil)
        })
        let session = world.process().session(delegate) { $0.urlCredentialStorage = storage }
        session.dataTask(with: request("/secret")).resume()
        #expect(
            try await delegate.heard.are([
                "1 challenged by NSURLAuthenticationMethodHTTPBasic", "1 received 'hello'", "1 completed",
            ]))
        #expect(proposed.read { $0 } == ["ada"])
    }

    @Test func `T7: The library sends credentials only to the server that requested them`() async throws {
        let other = try OriginServer()
        other.serve("/secret", .text("hello", .requireBasic(user: "ada", password: "abc")))
        origin.serve("/hop", .text("", .redirect(to: other.url("/secret"))))
        let delegate = Recorder(onChallenge: { challenge in
            #expect(challenge.protectionSpace.port == Int(other.port))
            return (.useCredential, URLCredential(user: "ada", password: "abc", persistence: .none))
        })
        world.process().session(delegate).dataTask(with: request("/hop")).resume()
        try await delegate.heard.wait(for: "the end") { $0.contains("1 completed") }
        #expect(delegate.heard.read { $0 }.contains("1 received 'hello'"))
        #expect(origin.requests(for: "/hop").allSatisfy { $0.field("authorization") == nil })
        #expect(other.requests(for: "/secret").compactMap { $0.field("authorization") }.count == 1)
    }

    @Test func `T7: After a redirect, another origin does not receive secrets`() async throws {
        let other = try OriginServer()
        other.serve("/file", .text("hello"))
        origin.serve("/secret", .text("", .redirect(to: other.url("/file"))))
        let delegate = Recorder()
        let session = world.process().session(delegate) {
            $0.httpAdditionalHeaders = ["X-Api-Key": "k", "Accept-Language": "de"]
        }
        var asked = request("/secret")
        asked.setValue("Bearer t", forHTTPHeaderField: "Authorization")
        asked.setValue("c=1", forHTTPHeaderField: "Cookie")
        session.dataTask(with: asked).resume()
        #expect(try await delegate.heard.are(["1 received 'hello'", "1 completed"]))
        let first = try #require(origin.requests(for: "/secret").first)
        #expect(first.field("authorization") == "Bearer t" && first.field("x-api-key") == "k")
        let second = try #require(other.requests(for: "/file").first)
        for name in ["authorization", "cookie", "x-api-key"] { #expect(second.field(name) == nil, "\(name)") }
        #expect(second.field("accept-language") == "de")
    }

    @Test func `T1: A decision about a task that has ended has no effect`() async throws {
        origin.serve("/held", .text("hello", .stallAfter(1)))
        let delegate = ResponseRecorder { _ in nil }
        let task = world.process().session(delegate).dataTask(with: request("/held"))
        task.resume()
        try await delegate.handlers.wait(for: "the handler") { $0.count == 1 }
        task.cancel()
        try await delegate.heard.wait(for: "the end") { $0.last == "1 completed -999" }
        delegate.handlers.update { handlers in
            for handler in handlers { handler(.allow) }
            handlers = []
        }
        // Any effect of the decision would occur before this task's end.
        origin.serve("/hello", .text("hello"))
        let second = ResponseRecorder()
        world.process().session(second, identifier: "other").dataTask(with: request("/hello")).resume()
        try await second.heard.wait(for: "another's end") { $0.last == "1 completed" }
        #expect(delegate.heard.read { $0 } == ["1 response 200", "1 completed -999"])
    }

    @Test func `T1: A challenge that is answered after the end of its session has no effect`() async throws {
        await #expect(processExitsWith: .success) {
            let world = try World()
            let origin = try OriginServer()
            origin.serve("/secret", .text("hello", .requireBasic(user: "ada", password: "abc")))
            let delegate = ChallengeKeeper()
            let session = world.process().session(delegate)
            session.dataTask(with: URLRequest(url: url(origin.url("/secret")))).resume()
            try await delegate.kept.wait(for: "the challenge") { $0 != nil }
            session.invalidateAndCancel()
            try await delegate.isInvalid.wait(for: "the end") { $0 }
            delegate.kept.read { $0 }?(
                .useCredential, URLCredential(user: "ada", password: "abc", persistence: .none))
            // If the answer caused a trap, the trap would occur at the loader's next operation.
            let second = Recorder()
            world.process().session(second, identifier: "other").dataTask(
                with: URLRequest(url: url(origin.url("/secret")))
            ).resume()
            try await second.heard.wait(for: "another's end") { $0.contains { $0.hasPrefix("1 completed") } }
            #expect(origin.requests(for: "/secret").allSatisfy { $0.field("authorization") == nil })
        }
    }

    @Test func `T7: Without credentials, and for Digest, the 401 response is the result`()
        async throws
    {
        origin.serve("/basic", .text("hello", .requireBasic(user: "ada", password: "abc")))
        origin.serve("/digest", .text("hello", .requireDigest(user: "ada", password: "abc")))
        let delegate = ResponseRecorder()
        let session = world.process().session(delegate)
        session.dataTask(with: request("/basic")).resume()
        try await delegate.heard.wait(for: "the end") { $0.last == "1 completed" }
        session.dataTask(with: request("/digest")).resume()
        try await delegate.heard.wait(for: "the end") { $0.last == "2 completed" }
        #expect(delegate.heard.read { $0.filter { $0.contains("response") } } == ["1 response 401", "2 response 401"])
    }
}

/// A delegate that also records responses.
final class ResponseRecorder: NSObject, URLSessionDownloadDelegate, URLSessionDataDelegate, Sendable {
    let heard = Watched<[String]>([])
    let handlers = Watched<[@Sendable (URLSession.ResponseDisposition) -> Void]>([])
    /// A closure that decides about a response. Nil means that ``handlers`` keeps the handler and the test decides
    /// later.
    private let decide: @Sendable (URLResponse) -> URLSession.ResponseDisposition?

    init(_ decide: @escaping @Sendable (URLResponse) -> URLSession.ResponseDisposition? = { _ in .allow }) {
        self.decide = decide
    }

    private func note(_ text: String) { heard.update { $0.append(text) } }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @Sendable @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        note("\(dataTask.taskIdentifier) response \((response as? HTTPURLResponse)?.statusCode ?? 0)")
        if let decision = decide(response) {
            completionHandler(decision)
        } else {
            handlers.update { $0.append(completionHandler) }
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        note("\(dataTask.taskIdentifier) received '\(String(decoding: data, as: UTF8.self))'")
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask
    ) {
        note("\(dataTask.taskIdentifier) became \(downloadTask.taskIdentifier)")
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        let content = (try? String(contentsOf: location, encoding: .utf8)) ?? "no file"
        note("\(downloadTask.taskIdentifier) finished '\(content)'")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let code = (error as? URLError).map { " \($0.code.rawValue)" } ?? ""
        note("\(task.taskIdentifier) completed\(code)")
    }
}

/// A delegate that keeps the handler of a challenge.
final class ChallengeKeeper: NSObject, URLSessionTaskDelegate, Sendable {
    typealias Handler = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    let kept = Watched<Handler?>(nil)
    let isInvalid = Watched(false)

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @Sendable @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        kept.update { $0 = completionHandler }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        isInvalid.update { $0 = true }
    }
}

/// A header field's value that the app creates from its own object. Its `description` runs code of the app when the
/// value is used.
private final class ValueInUse: CustomStringConvertible, Sendable {
    private let action = Watched<(@Sendable () -> Void)?>(nil)

    /// Registers a closure that runs when the value is used for the first time.
    ///
    /// - Parameter body: A closure that is called once.
    func whenUsed(_ body: @escaping @Sendable () -> Void) {
        action.update { $0 = body }
    }

    var description: String {
        let body = action.update { action -> (@Sendable () -> Void)? in
            defer { action = nil }
            return action
        }
        body?()
        return "value"
    }
}
