import Foundation
import NightshiftAPI
import Testing

@testable import CLI

struct RetryCommandTests {
    private static func service(_ world: World, hosts: [String] = []) throws -> ScriptedService {
        try world.service { request in
            if request.path == "/v1/status" {
                var status = Samples.status
                status.pausedHosts = hosts.map { PausedHost(origin: $0, until: Samples.now) }
                return try .json(status)
            }
            guard request.method == "POST", request.path == "/v1/retry" else {
                throw Problem.notFound("There is nothing at \(request.path).")
            }
            let asked = try JSON.decode(RetryRequest.self, from: request.body)
            guard let tasks = asked.tasks else { return try .json(RetryResponse(count: 7)) }
            let refused = tasks.filter { $0 == TaskID(5) }.map {
                RefusedTask(id: $0, problem: .conflict("Task 5 has failed for good.\u{1b}[2J"))
            }
            return try .json(RetryResponse(count: tasks.count - refused.count, refused: refused))
        }
    }

    @Test func `The retry command without ids retries all transfers that wait after a failure`() async throws {
        let world = try World()
        let service = try Self.service(world)
        defer { service.stop() }
        #expect(await world.run("retry") == .whole)
        #expect(world.output.text == "7 transfers are retried now.\n" && world.errors.text.isEmpty)
    }

    @Test func `The retry command names the host for which transfers wait`() async throws {
        let world = try World()
        let service = try Self.service(world, hosts: ["https://a.example:443"])
        defer { service.stop() }
        #expect(await world.run("retry") == .whole)
        #expect(
            world.output.text
                == "7 transfers are retried now, and so are all transfers that waited for https://a.example:443.\n")
        let hosts = (1...4).map { PausedHost(origin: "https://h\($0):443", until: Samples.now) }
        #expect(
            RetryCommand.line(RetryResponse(count: 0), Array(hosts.prefix(2)))
                == "All transfers that waited for https://h1:443, https://h2:443 are retried now.")
        #expect(
            RetryCommand.line(RetryResponse(count: 1), hosts)
                == "1 transfer is retried now, and so are all transfers that waited for 4 hosts.")
    }

    @Test func `retry prints different refusals one by one`() async throws {
        let world = try World()
        let service = try Self.service(world)
        defer { service.stop() }
        #expect(await world.run("retry", "4-5") == .failed)
        #expect(world.output.text == "1 transfer is retried now.\n")
        #expect(world.errors.text.hasPrefix("nightshift: Task 5 has failed for good."))
        #expect(!world.errors.text.contains("\u{1b}"))
        let other = try World()
        let second = try Self.service(other)
        defer { second.stop() }
        #expect(await other.run("retry", "5", "--json") == .failed)
        let answer = try JSON.decode(RetryResponse.self, from: Data(other.output.text.utf8))
        #expect(answer.count == 0 && answer.refused.map(\.id) == [TaskID(5)])
    }

    @Test func `The retry command prints the same refusal of many transfers once`() async throws {
        let world = try World()
        let service = try world.service { request in
            guard request.method == "POST" else { return try .json(Samples.status) }
            let asked = try JSON.decode(TaskActionRequest.self, from: request.body)
            return try .json(
                TaskActionAnswer(
                    results: asked.tasks.map { id in
                        let isThere = id.rawValue < 5
                        return TaskActionResult(
                            id: id,
                            problem: isThere
                                ? .conflict("Transfer \(id) is completed.") : .notFound("There is no transfer \(id)."))
                    }))
        }
        defer { service.stop() }
        #expect(await world.run("resume", "1-2", "4", "7-9", "12", "100-20000") == .failed)
        #expect(
            world.errors.text == """
                nightshift: Transfer 1 is completed. The same applies to 2 4.
                nightshift: There is no transfer 7. The same applies to 8-9 12 100-20000.

                """)
    }

    @Test func `retry does not combine refusals that differ in more than the transfer number`() {
        let refused = [1, 2].map { RefusedTask(id: TaskID($0), problem: .conflict("Task \($0) has \($0)0 bytes.")) }
        #expect(
            RefusalText.lines(refused) == [
                "nightshift: Task 1 has 10 bytes.", "nightshift: Task 2 has 20 bytes.",
            ])
    }

    @Test func `The retry command sends few requests for many transfers`() async throws {
        let world = try World()
        let service = try Self.service(world)
        defer { service.stop() }
        #expect(await world.run("retry", "1001-21500") == .whole)
        #expect(world.output.text == "20500 transfers are retried now.\n")
        #expect(service.requests.filter { $0.method == "POST" }.count == 3)
    }
}
