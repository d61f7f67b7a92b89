import Foundation
import NightshiftAPI
import Testing

@testable import LocalAPI

/// Tests of one action on many transfers in one request.
@Suite struct ActionTests {
    private func enqueue(_ count: Int, _ server: TestServer) async throws -> [TaskID] {
        let tasks = (0..<count).map { "{\"url\":\"https://example.org/\($0)\"}" }.joined(separator: ",")
        return try await server.request("POST", "/v1/tasks", body: "{\"tasks\":[\(tasks)]}")
            .decode(EnqueueResponse.self).ids
    }

    private func act(
        _ action: String, _ ids: [TaskID], _ server: TestServer, more: String = ""
    ) async throws -> [TaskActionResult] {
        let list = ids.map(\.description).joined(separator: ",")
        let answer = try await server.request(
            "POST", "/v1/actions", body: "{\"action\":\"\(action)\",\"tasks\":[\(list)]\(more)}")
        #expect(answer.status == 200, "\(answer.text)")
        return try answer.decode(TaskActionAnswer.self).results
    }

    @Test func `An action returns a result for each transfer, in the order of the request`() async throws {
        try await withAPI { server, _ in
            let ids = try await enqueue(3, server)
            let none = TaskID(999_999)
            let wanted = [ids[2], none, ids[0]]
            let suspended = try await act("suspend", wanted, server)
            #expect(suspended.map(\.id) == wanted)
            #expect(suspended.map { $0.task?.state } == [.suspended, nil, .suspended])
            #expect(suspended[1].problem?.status == 404)
            #expect(try await server.request("GET", "/v1/tasks/\(ids[1])").decode(TaskStatus.self).state == .waiting)
            // An action that changes nothing is not an error.
            #expect(try await act("resume", ids, server).map { $0.task?.state } == [.waiting, .waiting, .waiting])
            #expect(try await act("remove", [ids[0]], server)[0].problem?.status == 409)
            let cancelled = try await act("cancel", ids, server, more: ",\"producingResumeData\":true")
            #expect(cancelled.allSatisfy { $0.task?.state == .cancelled && $0.problem == nil })
            #expect(try await act("cancel", ids, server).allSatisfy { $0.problem?.status == 409 })
            let removed = try await act("remove", ids, server)
            #expect(removed == ids.map { TaskActionResult(id: $0) })
            #expect(try await server.request("GET", "/v1/tasks").decode(TaskPage.self).tasks.isEmpty)
            // Each decision is in the journal, as if it had been requested alone.
            let journal = try await server.request("GET", "/v1/journal?task=\(ids[0])&limit=100")
                .decode(JournalPage.self).entries.map(\.decision)
            #expect(journal.filter { $0 != .held } == [.accepted, .suspended, .resumed, .cancelled, .removed])
        }
    }

    @Test func `A change of many transfers applies to all of them and is stored`() async throws {
        try await withAPI { server, _ in
            let ids = try await enqueue(3, server)
            _ = try await act("cancel", [ids[1]], server)
            let none = TaskID(999_999)
            let more = ",\"change\":{\"priority\":0.9,\"rateLimit\":500000,\"description\":\"film\"}"
            let changed = try await act("change", [ids[2], none, ids[1], ids[0]], server, more: more)
            #expect(changed.map(\.id) == [ids[2], none, ids[1], ids[0]])
            #expect(changed.map { $0.problem?.status } == [nil, 404, 409, nil])
            #expect(changed.map { $0.task?.priority } == [0.9, nil, nil, 0.9])
            _ = try await act("change", [ids[0]], server, more: ",\"change\":{\"rateLimit\":0}")
            let tasks = try await server.request("GET", "/v1/tasks?task=\(ids[0]),\(ids[2])").decode(TaskPage.self)
                .tasks
            #expect(tasks.map(\.priority) == [0.9, 0.9] && tasks.map(\.rateLimit) == [nil, 500_000])
            #expect(tasks.map(\.description) == ["film", "film"])
            let journal = try await server.request("GET", "/v1/journal?task=\(ids[2])&limit=100")
                .decode(JournalPage.self).entries.map(\.decision)
            #expect(journal.filter { $0 == .changed }.count == 1)
        }
    }

    @Test func `An action on the maximum number of transfers needs few transactions`() async throws {
        try await withAPI { server, _ in
            let ids = try await enqueue(Limits.tasksPerAction, server)
            let change = ",\"change\":{\"priority\":0.1}"
            #expect(try await act("change", ids, server, more: change).allSatisfy { $0.task?.priority == 0.1 })
            for (action, state) in [("suspend", TaskState.suspended), ("resume", .waiting), ("cancel", .cancelled)] {
                let results = try await act(action, ids, server)
                #expect(results.map(\.id) == ids)
                #expect(results.allSatisfy { $0.task?.state == state }, "\(action)")
            }
            // Decisions of one transaction have the same time.
            var times: Set<Date> = []
            var page = JournalPage(entries: [], next: 0)
            while let next = page.next {
                page = try await server.request("GET", "/v1/journal?after=\(next)&limit=1000").decode(JournalPage.self)
                times.formUnion(page.entries.filter { $0.decision == .suspended }.map(\.time))
            }
            #expect((1...Limits.tasksPerAction / 100).contains(times.count), "\(times.count)")
            #expect(try await act("remove", ids, server).allSatisfy { $0.problem == nil })
            #expect(try await server.request("GET", "/v1/tasks").decode(TaskPage.self).tasks.isEmpty)
        }
    }

    @Test(arguments: [
        ("{\"action\":\"resume\",\"tasks\":[]}", 422, "/tasks"),
        ("{\"action\":\"resume\",\"tasks\":[1,1]}", 422, "/tasks"),
        ("{\"action\":\"resume\",\"tasks\":[1,0]}", 422, "/tasks/1"),
        ("{\"action\":\"remove\",\"tasks\":[-1]}", 422, "/tasks/0"),
        ("{\"action\":\"resume\"}", 400, "/tasks"), ("{\"action\":\"explode\",\"tasks\":[1]}", 400, "/action"),
        ("{\"action\":\"change\",\"tasks\":[1]}", 422, "/change"),
        ("{\"action\":\"resume\",\"tasks\":[1],\"change\":{}}", 422, "/change"),
        ("{\"action\":\"change\",\"tasks\":[1],\"change\":{\"priority\":2}}", 422, "/change/priority"),
        ("{\"action\":\"change\",\"tasks\":[1],\"change\":{\"colour\":2}}", 400, "/change/colour"),
        ("{\"action\":\"resume\",\"tasks\":[1],\"producingResumeData\":true}", 422, "/producingResumeData"),
        ("{\"action\":\"resume\",\"tasks\":[\((1...1_001).map { "\($0)" }.joined(separator: ","))]}", 422, "/tasks"),
    ])
    func `The API refuses an invalid action request as a whole`(body: String, status: Int, pointer: String) async throws
    {
        try await withAPI { server, _ in
            let answer = try await server.request("POST", "/v1/actions", body: body)
            #expect(answer.status == status)
            #expect(try answer.problem.pointer == pointer)
        }
    }
}
