import Foundation
import Nightshift
import TestSupport
import Testing

/// Tests that the library refuses requests with Apple's message that Apple's systems refuse (spec section 2.5).
@Suite struct RefusalTests {
    /// Creates a session of a process without a service.
    private static func session(_ identifier: String = "refusals") throws -> URLSession {
        AppProcess(home: "/no/such/home").session(Recorder(), identifier: identifier)
    }

    private func expect(_ sentence: String, in result: ExitTest.Result?) {
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.contains(sentence), "\(said)")
    }

    @Test func `T7: A background session refuses a download with a completion handler`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try RefusalTests.session().downloadTask(with: url()) { _, _, _ in }
        }
        expect(
            "Completion handler blocks are not supported in background sessions. Use a delegate instead.", in: result)
    }

    @Test func `T7: A background session refuses an upload with a completion handler`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try RefusalTests.session().uploadTask(
                with: URLRequest(url: url()), fromFile: URL(filePath: "/dev/null")
            ) { _, _, _ in }
        }
        expect(
            "Completion handler blocks are not supported in background sessions. Use a delegate instead.", in: result)
    }

    @Test func `T7: A background session refuses an upload from memory`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try RefusalTests.session().uploadTask(with: URLRequest(url: url()), from: Data())
        }
        expect("Upload tasks from NSData are not supported in background sessions.", in: result)
    }

    @Test func `T7: A background session refuses an upload from a stream`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try RefusalTests.session().uploadTask(withStreamedRequest: URLRequest(url: url()))
        }
        expect("Upload tasks from a stream are not supported in background sessions.", in: result)
    }

    @Test func `T7: A background session refuses a data task with a handler, and a web socket`() async {
        let data = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try RefusalTests.session().dataTask(with: url()) { _, _, _ in }
        }
        expect("Completion handler blocks are not supported in background sessions.", in: data)
        let socket = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try RefusalTests.session().webSocketTask(with: url("ws://example.org"))
        }
        expect("WebSocket tasks are not supported in background sessions.", in: socket)
    }

    @Test func `T7: A background session refuses asynchronous convenience methods`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try await RefusalTests.session().download(from: url())
        }
        expect("not supported in background sessions", in: result)
    }

    @Test func `T7: A background session refuses schemes other than http and https`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try RefusalTests.session().downloadTask(with: url("ftp://example.org/file"))
        }
        expect("Only http and https URLs are supported in background sessions: ftp://example.org/file", in: result)
    }

    @Test func `T7: An invalidated session refuses a task`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let session = try RefusalTests.session()
            session.invalidateAndCancel()
            _ = session.downloadTask(with: url())
        }
        expect("Task created in a session that has been invalidated", in: result)
    }

    @Test func `T7: The library refuses an empty session identifier`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = URLSessionConfiguration.background(withIdentifier: "")
        }
        expect("identifier that is not empty", in: result)
    }

    /// In these calls, Swift does not prefer an initialiser of the library to FoundationNetworking's.
    @Test func `T7: FoundationNetworking's own initialiser fails with a message that says what to write`() async {
        let both = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let configuration: URLSessionConfiguration = .background(withIdentifier: "photos")
            let parts: (delegate: (any URLSessionDelegate)?, queue: OperationQueue?) = (Recorder(), .main)
            _ = BesideFoundationNetworking.session(configuration, parts.delegate, parts.queue)
        }
        expect("Remove that import", in: both)
        expect("BackgroundURLSession(configuration: configuration, delegate: delegate, delegateQueue:", in: both)
        let bare = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = BesideFoundationNetworking.session(.background(withIdentifier: "photos"))
        }
        expect("(\"photos\")", in: bare)
    }
}
