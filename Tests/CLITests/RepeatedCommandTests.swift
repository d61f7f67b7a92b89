import Foundation
import NightshiftAPI
import Testing

@testable import CLI

/// Tests of commands that are repeated.
struct RepeatedCommandTests {
    private func service(
        _ world: World, joined: [TaskID] = [], states: [TaskStatus] = []
    ) throws -> ScriptedService {
        try world.service { request in
            switch (request.method, request.path.prefix { $0 != "?" }) {
            case ("GET", "/v1/status"): try .json(Samples.status)
            case ("POST", "/v1/tasks"): try .json(EnqueueResponse(ids: [TaskID(14)], joined: joined))
            case ("GET", "/v1/tasks"): try .json(TaskPage(tasks: states, next: nil))
            case ("GET", "/v1/tasks/14"): try .json(Samples.completed())
            case ("GET", "/v1/tasks/14/content"): .json(200, Data("whole".utf8))
            case ("POST", "/v1/actions"): try .json(TaskActionAnswer(results: []))
            default: throw Problem.notFound(request.path)
            }
        }
    }

    private func posted(_ service: ScriptedService) throws -> TaskRequest {
        let request = try #require(service.requests.first { $0.path == "/v1/tasks" && $0.method == "POST" })
        return try #require(try JSON.decode(EnqueueRequest.self, from: request.body).tasks.first)
    }

    @Test func `get joins a running download with the same URL and file, and reports a paused one`() async throws {
        let world = try World()
        var paused = Samples.running(14)
        paused.state = .suspended
        let service = try service(world, joined: [TaskID(14)], states: [paused])
        defer { service.stop() }
        #expect(await world.run("get", "--detach", "http://a.example/1") == .whole)
        #expect(try posted(service).ifSame == .join)
        #expect(
            world.errors.text == """
                Transfer 14 is already downloading this file. Follow it with: nightshift watch 14
                Paused: 14. Continue with: nightshift resume 14

                """)
        #expect(world.output.text == "14\n")
    }

    @Test(arguments: [
        (["note", "http://a.example/1"], SameTask.join), (["-X", "put", "note", "http://a.example/1"], .join),
        (["-X", "POST", "note", "http://a.example/1"], nil), (["--form", "a=b", "http://a.example/1"], nil),
    ])
    func `put joins a running upload, unless repeating its method could have another effect`(
        _ arguments: [String], _ same: SameTask?
    )
        async throws
    {
        let world = try World()
        try Data("hello".utf8).write(to: world.root.appending(path: "note"))
        let service = try service(world)
        defer { service.stop() }
        #expect(await CommandLineProgram.run(world.invocation(["put", "--detach"] + arguments)) == .whole)
        #expect(try posted(service).ifSame == same)
    }

    @Test func `get starts one transfer for each of several equal lines of a list`() async throws {
        let world = try World()
        let service = try world.service { request in
            guard request.method == "POST" else { return try .json(Samples.status) }
            let count = try JSON.decode(EnqueueRequest.self, from: request.body).tasks.count
            return try .json(EnqueueResponse(ids: (1...Int64(count)).map { TaskID($0) }))
        }
        defer { service.stop() }
        let list =
            String(repeating: "http://a.example/1\n", count: Submission.batch) + "http://a.example/1\nhttp://a/2\n"
        try Data(list.utf8).write(to: world.root.appending(path: "list"))
        #expect(await world.run("get", "--detach", "-i", world.path + "/list") == .whole)
        let posts = try service.requests.filter { $0.method == "POST" }.map {
            try JSON.decode(EnqueueRequest.self, from: $0.body).tasks.map(\.ifSame)
        }
        #expect(posts.count == 2 && Set(posts[0]) == [.join] && posts[1] == [nil, .join])
    }

    @Test func `get prints how many transfers of a list were already running`() {
        let ids = [3, 4, 5, 9].map { TaskID(Int64($0)) }
        #expect(
            Submission.sentence(joined: ids, .download, isFollowed: true)
                == "4 of these transfers were already running: 3-5 9.")
        #expect(
            Submission.sentence(joined: [TaskID(3)], .upload, isFollowed: true)
                == "Transfer 3 is already uploading this file. Following it.")
    }

    @Test func `get -o - continues a paused download to standard output`() async throws {
        let world = try World()
        let service = try service(world, joined: [TaskID(14)])
        defer { service.stop() }
        #expect(await world.run("get", "-q", "-o", "-", "http://a.example/1") == .whole)
        #expect(try posted(service).ifSame == .joinSuspended)
        #expect(world.output.text == "whole")
        #expect(world.errors.text.hasPrefix("Continuing transfer 14.\n"))
        let actions = try service.requests.filter { $0.path == "/v1/actions" }.map {
            try JSON.decode(TaskActionRequest.self, from: $0.body).action
        }
        #expect(actions == [.resume, .cancel, .remove])
    }

    /// Returns a completed transfer, and creates its file.
    private func finished(_ world: World, _ content: String = "whole") throws -> TaskStatus {
        let file = world.root.appending(path: "film")
        try Data(content.utf8).write(to: file)
        try FileManager.default.setAttributes([.modificationDate: Samples.ago(10)], ofItemAtPath: file.path)
        var task = Samples.completed(14)
        task.url = "http://a.example/1"
        task.file = file.path
        task.countOfBytesReceived = 5
        return task
    }

    @Test func `get does not download a file that the same command has already downloaded`() async throws {
        let world = try World()
        let service = try service(world, states: [try finished(world)])
        defer { service.stop() }
        #expect(await world.run("get", "-o", "film", "http://a.example/1") == .whole)
        #expect(
            world.errors.text.hasPrefix(
                "Transfer 14 has already downloaded this file. To download it again, add --force."))
        #expect(world.output.text == "/home/ada/Downloads/film one.mkv\n")
        #expect(!service.requests.contains { $0.method == "POST" })
        #expect(await world.run("get", "--detach", "-o", "film", "http://a.example/1") == .whole)
        #expect(world.output.text.hasSuffix("14\n"))
    }

    @Test(arguments: ["http://a.example/2", "longer", "--checksum"])
    func `get refuses to replace a file if the URL, content or checksum differs`(_ difference: String) async throws {
        let world = try World()
        let task = try finished(world, difference == "longer" ? "longer" : "whole")
        let service = try service(world, states: [task])
        defer { service.stop() }
        let url = difference.hasPrefix("http") ? difference : "http://a.example/1"
        let checksum = difference == "--checksum" ? ["--checksum", "md5:" + String(repeating: "0", count: 32)] : []
        #expect(await CommandLineProgram.run(world.invocation(["get", "-o", "film", url] + checksum)) == .failed)
        #expect(world.errors.text.contains("already exists"))
    }
}
