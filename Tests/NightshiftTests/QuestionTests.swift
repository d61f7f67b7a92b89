import Foundation
import Nightshift
import NightshiftAPI
import TestSupport
import Testing

/// Tests of challenges and of `willBeginDelayedRequest` (row T12).
@Suite struct QuestionTests {
    private func challenge(_ method: Challenge.Method) -> Challenge {
        var challenge = Challenge(method: method, host: "example.org", port: 443, scheme: "https")
        challenge.realm = "photos"
        challenge.previousFailureCount = 1
        if method == .basic || method == .digest {
            challenge.response = ResponseSummary(
                status: 401, headers: [HeaderField(name: "X-Reason", value: "nobody")], httpVersion: "1.1")
        }
        if method == .serverTrust {
            challenge.certificates = [Data("certificate".utf8).base64EncodedString()]
            challenge.reason = "self-signed"
        }
        return challenge
    }

    private func answer(
        to challenge: Challenge, by delegate: any URLSessionDelegate
    ) async throws -> MessageAnswer {
        let world = try World()
        let session = world.process().session(delegate)
        session.downloadTask(with: url()).resume()
        let id = world.service.push(.challenge, 1, challenge: challenge)
        try await world.service.state.wait(for: "the answer") { $0.answers.count == 1 }
        let answer = try #require(world.service.state.read { $0.answers.first })
        #expect(answer.message == id)
        #expect(world.service.state.read { $0.acknowledged } == [])
        return answer
    }

    @Test(arguments: [Challenge.Method.basic, .digest])
    func `T12: A password challenge contains the server's protection space`(method: Challenge.Method) async throws {
        let seen = Watched<[URLAuthenticationChallenge]>([])
        let delegate = Recorder(onChallenge: { challenge in
            seen.update { $0.append(challenge) }
            return (.useCredential, URLCredential(user: "ann", password: "secret", persistence: .forSession))
        })
        let answer = try await answer(to: challenge(method), by: delegate)
        #expect(answer.disposition == .useCredential)
        #expect(answer.credential?.user == "ann")
        #expect(answer.credential?.password == "secret")
        let asked = try #require(seen.read { $0.first })
        let space = asked.protectionSpace
        #expect(
            space.host == "example.org" && space.port == 443 && space.protocol == "https" && space.realm == "photos")
        #expect(
            space.authenticationMethod
                == (method == .basic ? NSURLAuthenticationMethodHTTPBasic : NSURLAuthenticationMethodHTTPDigest))
        #expect(space.serverTrust == nil)
        #expect(asked.previousFailureCount == 1)
        #expect(asked.proposedCredential == nil)
        let response = try #require(asked.failureResponse as? HTTPURLResponse)
        #expect(response.statusCode == 401 && response.value(forHTTPHeaderField: "X-Reason") == "nobody")
    }

    @Test(
        arguments: [
            (
                URLSession.AuthChallengeDisposition.performDefaultHandling,
                MessageAnswer.Disposition.performDefaultHandling
            ),
            (.rejectProtectionSpace, .rejectProtectionSpace), (.cancelAuthenticationChallenge, .cancel),
            // This disposition has no credential, so default handling applies.
            (.useCredential, .performDefaultHandling),
        ])
    func `T12: Every disposition reaches the service`(
        disposition: URLSession.AuthChallengeDisposition, expected: MessageAnswer.Disposition
    ) async throws {
        let delegate = Recorder(onChallenge: { _ in (disposition, nil) })
        #expect(try await answer(to: challenge(.basic), by: delegate).disposition == expected)
    }

    @Test(arguments: [(0, "ann"), (1, nil)] as [(Int, String?)])
    func `T12: A challenge proposes the default credential, which default handling uses once`(
        failures: Int, user: String?
    ) async throws {
        let world = try World()
        var asked = challenge(.basic)
        asked.previousFailureCount = failures
        let space = URLProtectionSpace(
            host: "example.org", port: 443, protocol: "https", realm: "photos",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(
            URLCredential(user: "ann", password: "secret", persistence: .forSession), for: space)
        let proposed = Watched<[String?]>([])
        let delegate = Recorder(onChallenge: { challenge in
            proposed.update { $0.append(challenge.proposedCredential?.user) }
            return (.performDefaultHandling, nil)
        })
        let session = world.process().session(delegate) { $0.urlCredentialStorage = storage }
        session.downloadTask(with: url()).resume()
        world.service.push(.challenge, 1, challenge: asked)
        try await world.service.state.wait(for: "the answer") { $0.answers.count == 1 }
        let answer = try #require(world.service.state.read { $0.answers.first })
        #expect(answer.credential?.user == user)
        #expect(answer.disposition == (user == nil ? .performDefaultHandling : .useCredential))
        #expect(proposed.read { $0 } == ["ann"])
    }

    @Test func `T12: The session's method gets a server trust challenge before the task's method`() async throws {
        let delegate = TrustingDelegate()
        let answer = try await answer(to: challenge(.serverTrust), by: delegate)
        #expect(answer.disposition == .useCredential)
        #expect(answer.credential == nil)
        #expect(delegate.certificates.read { $0 } == [Data("certificate".utf8)])
    }

    @Test func `T12: The task's method is called if the session's method chooses default handling`() async throws {
        let certificate = URL(filePath: "/tls/client.pem")
        let delegate = Recorder(onChallenge: { challenge in
            challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodClientCertificate
                ? (.useCredential, .clientCertificate(file: certificate, keyFile: URL(filePath: "/tls/client.key")))
                : (.performDefaultHandling, nil)
        })
        let answer = try await answer(to: challenge(.clientCertificate), by: delegate)
        #expect(answer.disposition == .useCredential)
        #expect(answer.clientCertificate == "/tls/client.pem")
        #expect(answer.clientKey == "/tls/client.key")
        #expect(delegate.heard.read { $0 } == ["1 challenged by NSURLAuthenticationMethodClientCertificate"])
    }

    @Test func `T12: The app gets a challenge once, even if the stream breaks`() async throws {
        let world = try World()
        let delegate = SilentDelegate()
        let session = world.process().session(delegate)
        session.downloadTask(with: url()).resume()
        world.service.push(.challenge, 1, challenge: challenge(.basic))
        try await delegate.asked.wait(for: "the question") { $0.count == 1 }
        world.service.breakStreams()
        try await world.service.state.wait(for: "another stream") { !$0.streams.isEmpty }
        session.downloadTask(with: url()).resume()
        try world.service.end(2)
        try await delegate.ended.wait(for: "a later message") { $0 }
        #expect(delegate.asked.read { $0.count } == 1)
        delegate.asked.read { $0.first }?(.cancelAuthenticationChallenge, nil)
        try await world.service.state.wait(for: "the answer") { $0.answers.map(\.disposition) == [.cancel] }
    }

    @Test func `T11: A delayed task asks the app before it begins`() async throws {
        let world = try World()
        let session = world.process().session(DelayingDelegate())
        let task = session.downloadTask(with: url())
        task.earliestBeginDate = Date(timeIntervalSince1970: 2_000_000_000)
        task.resume()
        #expect(world.service.state.read { $0.requests[1]?.asksBeforeBeginning } == true)
        world.service.push(.delayedRequest, 1)
        try await world.service.state.wait(for: "the answer") { $0.answers.count == 1 }
        let answer = try #require(world.service.state.read { $0.answers.first })
        #expect(answer.disposition == .continueLoading)
        #expect(answer.request?.url == "http://example.org/fresh")
        #expect(task.originalRequest?.url == url("http://example.org/fresh"))
    }

    /// A task that the library did not cancel would wait for an answer until its timeout.
    @Test func `T11: A delayed task is cancelled if the service refuses its new request`() async throws {
        let world = try World()
        let session = world.process().session(DelayingDelegate("ftp://example.org/fresh"))
        let task = session.downloadTask(with: url())
        task.earliestBeginDate = Date(timeIntervalSince1970: 2_000_000_000)
        task.resume()
        world.service.push(.delayedRequest, 1)
        try await world.service.state.wait(within: .seconds(60), for: "an answer") { !$0.answers.isEmpty }
        #expect(world.service.state.read { $0.answers.map(\.disposition) } == [.cancel])
    }
}

private final class TrustingDelegate: NSObject, URLSessionTaskDelegate {
    let certificates = Watched<[Data]>([])

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @Sendable @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust,
            let trust = challenge.protectionSpace.serverTrust
        else {
            completionHandler(.performDefaultHandling, nil)
            return
        }
        certificates.update { $0 = challenge.protectionSpace.serverCertificates ?? [] }
        completionHandler(.useCredential, URLCredential(trust: trust))
    }
}

/// A delegate that does not answer challenges.
private final class SilentDelegate: NSObject, URLSessionTaskDelegate {
    let asked = Watched<[@Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void]>([])
    let ended = Watched(false)

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @Sendable @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        asked.update { $0.append(completionHandler) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        ended.update { $0 = true }
    }
}

private final class DelayingDelegate: NSObject, URLSessionDelayedRequestDelegate {
    private let text: String

    init(_ text: String = "http://example.org/fresh") { self.text = text }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
        completionHandler: @Sendable @escaping (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) {
        completionHandler(.useNewRequest, URLRequest(url: url(text)))
    }
}
