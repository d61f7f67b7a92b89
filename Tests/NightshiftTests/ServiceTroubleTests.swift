import Foundation
import Nightshift
import NightshiftAPI
import TestSupport
import Testing

/// Row T13: the service restarting or being away is survived without the app's doing.
@Suite struct ServiceTroubleTests {
    @Test func `T13: A service that comes back delivers what ended meanwhile, once`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        session.downloadTask(with: url()).resume()
        session.downloadTask(with: url()).resume()
        try world.service.end(1, content: "one")
        try await world.service.state.wait(for: "an acknowledgement") { $0.acknowledged == [1] }
        world.service.stop()
        try world.service.end(2, content: "two")
        try world.service.start()
        try await delegate.heard.wait(for: "the second end") { $0.last == "2 completed" }
        world.service.breakStreams()
        try await world.service.state.wait(for: "another stream") { !$0.streams.isEmpty }
        #expect(delegate.heard.read { $0.filter { $0.hasSuffix("completed") } } == ["1 completed", "2 completed"])
    }

    @Test func `T13: A task that is resumed while the service is away is told when it is back`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let task = session.downloadTask(with: url())
        world.service.stop()
        let isResumed = Watched(false)
        Thread.detachNewThread {
            task.resume()
            isResumed.update { $0 = true }
        }
        try await eventually("the task is running") { task.state == .running }
        try world.service.start()
        try await world.service.state.wait(for: "the task") { $0.requests[1]?.request.suspended == false }
        try await isResumed.wait(for: "resume()") { $0 }
        try world.service.end(1)
        try await delegate.heard.wait(for: "the end") { $0.last == "1 completed" }
    }

    /// Longer than resume() waits.
    @Test func `T13: resume() returns although nobody answers, and nothing is lost`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let task = session.downloadTask(with: url())
        world.service.stop()
        task.resume()
        #expect(task.state == .running)
        try world.service.start()
        try await world.service.state.wait(for: "the task") { $0.requests[1] != nil }
        try world.service.end(1)
        try await delegate.heard.wait(for: "the end") { $0.last == "1 completed" }
    }

    @Test func `T13: A lost answer does not make two tasks of one`() async throws {
        let world = try World()
        let session = world.process().session(Recorder())
        let line = "POST /v1/process/sessions/org.example.photos/tasks"
        world.service.state.update { $0.unanswered[line] = 2 }
        let task = session.downloadTask(with: url())
        task.resume()
        #expect(world.service.state.read { $0.log.filter { $0 == line }.count } == 3)
        #expect(world.service.state.read { $0.tasks.count } == 1)
    }

    @Test func `T13: Without a service for a while, tasks get numbers that nobody else has`() async throws {
        let world = try World()
        world.service.stop()
        let session = world.process().session(Recorder())
        let first = session.downloadTask(with: url())
        #expect(first.taskIdentifier > 1_700_000_000_000)
        try world.service.start()
        first.resume()
        #expect(world.service.state.read { $0.requests.keys.map { Int($0) } } == [first.taskIdentifier])
    }

    @Test func `T13: A session is attached again when the service does not know the process any more`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        session.downloadTask(with: url()).resume()
        // The channel alone is gone; requests are refused until there is a new one.
        let channels = world.service.state.update { state in
            defer { state.channels = [] }
            return state.channels
        }
        session.downloadTask(with: url()).resume()
        #expect(world.service.state.read { $0.tasks.count } == 2)
        for channel in channels { channel.close() }
        try world.service.end(2)
        try await delegate.heard.wait(for: "the end") { $0.last == "2 completed" }
    }
}
