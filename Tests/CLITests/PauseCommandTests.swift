import Foundation
import NightshiftAPI
import Testing

@testable import CLI

/// Tests of pausing uploads whose servers keep no data.
struct PauseCommandTests {
    private static func upload(_ id: Int64, sent: Int64 = 5 << 20, _ change: (inout TaskStatus) -> Void = { _ in })
        -> TaskStatus
    {
        var task = Samples.running(id)
        task.kind = .upload
        task.source = "/home/ada/photo.jpg"
        task.destination = nil
        task.countOfBytesSent = sent
        change(&task)
        return task
    }

    @Test func `pause warns only about uploads whose sent bytes would be sent again`() throws {
        let resource = UploadStatus(resumption: .tus, countOfBytesAcknowledged: 1)
        let tasks = [
            Samples.running(1), Self.upload(2, sent: 0), Self.upload(3) { $0.upload = resource },
            Self.upload(4) { $0.state = .waiting },
        ]
        #expect(UploadLosses(tasks).isEmpty)
        #expect(
            UploadLosses(tasks + [Self.upload(5)]).lines == [
                "5 photo.jpg: The server cannot continue this upload. 5.0 MiB will have to be sent again."
            ])
    }

    @Test func `pause lists the first uploads that lose bytes, and counts the rest`() {
        let lines = UploadLosses((1...20).map { Self.upload($0) }).lines
        #expect(lines.count == 6)
        #expect(lines.last == "The same applies to 15 more uploads, with 75.0 MiB: 6-20.")
    }

    private func service(_ world: World) throws -> ScriptedService {
        try world.service { request in
            switch request.path.prefix(while: { $0 != "?" }) {
            case "/v1/tasks": return try .json(TaskPage(tasks: [Self.upload(7)], next: nil))
            default:
                let asked = try JSON.decode(TaskActionRequest.self, from: request.body)
                return try .json(
                    TaskActionAnswer(results: asked.tasks.map { TaskActionResult(id: $0, task: Self.upload(7)) }))
            }
        }
    }

    @Test(arguments: [(nil, true), (true, true), (false, false)])
    func `pause prints which bytes would be lost before it asks the user`(_ answer: Bool?, _ isPaused: Bool)
        async throws
    {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        var invocation = world.invocation(["pause", "7"])
        invocation.confirm = { $0 == "Pause it?" ? answer : nil }
        #expect(await CommandLineProgram.run(invocation) == (isPaused ? .whole : .failed))
        #expect(world.errors.text.hasPrefix("7 photo.jpg: The server cannot continue this upload."))
        #expect(world.output.text == (isPaused ? "7 photo.jpg: paused\n" : ""))
        #expect(service.requests.contains { $0.path == "/v1/actions" } == isPaused)
    }

    @Test(arguments: [["pause", "--yes", "7"], ["pause", "8"], ["pause", "7", "--json"]])
    func `pause does not ask with --yes, with --json, or if no bytes are lost`(_ arguments: [String]) async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        var invocation = world.invocation(arguments)
        invocation.confirm = { _ in false }
        #expect(await CommandLineProgram.run(invocation) == .whole)
    }
}
