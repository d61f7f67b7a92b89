import Foundation
import FoundationNetworking
import NightshiftAPI
import TestSupport
import Testing

@testable import Nightshift

/// Tests of replacing the request of a download, as an app does it.
@Suite struct RetargetTests {
    private let other = URL(string: "https://other.example/file?signature=1")!

    private func request() -> URLRequest {
        var request = URLRequest(url: other)
        request.setValue("secret", forHTTPHeaderField: "Authorization")
        return request
    }

    @Test func `B2: The service gets the new request, which a later process can read`() async throws {
        let world = try World()
        let task = world.process().session(Recorder()).downloadTask(with: url())
        task.resume()
        try await task.retarget(to: request())
        let sent = try #require(world.service.state.read(\.retargets).first)
        #expect(sent.url == other.absoluteString && sent.headers?.first("authorization") == "secret")
        #expect(sent.clientData?.contains("other.example") == true && sent.clientData?.contains("secret") == false)
        #expect(task.originalRequest?.url == other && task.currentRequest?.url == other)
        #expect(task.state == .running)
    }

    @Test func `B2: A task that the service does not have yet is sent with the new request`() async throws {
        let world = try World()
        let task = world.process().session(Recorder()).downloadTask(with: url())
        try await task.retarget(to: request())
        #expect(world.service.state.read(\.log).allSatisfy { !$0.contains("retarget") })
        task.resume()
        #expect(world.service.state.read { $0.requests[1]?.request.url } == other.absoluteString)
    }

    @Test func `T13: The library sends a task made from resume data before it replaces the request`() async throws {
        let world = try World()
        let session = world.process().session(Recorder())
        let first = session.downloadTask(with: url())
        first.resume()
        let data = try #require(await first.cancelByProducingResumeData())
        let task = session.downloadTask(withResumeData: data)
        try await task.retarget(to: URLRequest(url: other))
        let asked = world.service.state.read(\.log).filter { $0.hasSuffix("/tasks") || $0.hasSuffix("/retarget") }
        #expect(asked.suffix(2).map { $0.hasSuffix("/retarget") } == [false, true], "\(asked)")
        #expect(world.service.state.read { $0.requests[2]?.request.suspended } == true)
        #expect(world.service.state.read(\.retargets).first?.headers == nil)
        #expect(task.state == .suspended)
    }

    @Test func `B2: Refusals, and tasks of other sessions, throw errors that give the reason`() async throws {
        let world = try World()
        let task = world.process().session(Recorder()).downloadTask(with: url())
        task.resume()
        world.service.state.update {
            $0.refusals["POST /v1/tasks/100/retarget"] = .conflict("All bytes of task 100 are here.")
        }
        let refusal = await #expect(throws: URLError.self) { try await task.retarget(to: self.request()) }
        #expect(refusal?.code == .resourceUnavailable && refusal?.localizedDescription.contains("All bytes") == true)
        #expect(task.originalRequest?.url == url())
        let plain = URLSession(configuration: .default).downloadTask(with: url())
        let stranger = await #expect(throws: URLError.self) { try await plain.retarget(to: self.request()) }
        #expect(stranger?.code == .unsupportedURL)
    }
}
