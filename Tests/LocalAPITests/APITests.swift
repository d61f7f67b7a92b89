import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import LocalAPI

/// Tests of the whole API with a real service, without a network.
@Suite struct APITests {
    private let two = """
        {"tasks":[{"url":"https://example.org/a"},{"url":"https://example.org/b","suspended":true}]}
        """

    @Test func `The API accepts, lists, changes and explains transfers`() async throws {
        try await withAPI { server, _ in
            let accepted = try await server.request("POST", "/v1/tasks", body: two)
            #expect(accepted.status == 201)
            let ids = try accepted.decode(EnqueueResponse.self).ids
            #expect(ids.count == 2)

            let suspended = try await server.request("GET", "/v1/tasks?state=suspended,failed&session=terminal")
            #expect(try suspended.decode(TaskPage.self).tasks.map(\.id) == [ids[1]])
            let first = try await server.request("GET", "/v1/tasks?limit=1").decode(TaskPage.self)
            #expect(first.tasks.map(\.id) == [ids[0]])
            let rest = try await server.request("GET", "/v1/tasks?limit=1&after=\(try #require(first.next))")
            #expect(try rest.decode(TaskPage.self).tasks.map(\.id) == [ids[1]])

            let changed = try await server.request("PATCH", "/v1/tasks/\(ids[0])", body: "{\"priority\":0.75}")
            #expect(try changed.decode(TaskStatus.self).priority == 0.75)
            #expect(try await server.request("GET", "/v1/tasks/\(ids[0])").decode(TaskStatus.self).priority == 0.75)
            let why = try await server.request("GET", "/v1/tasks/\(ids[1])/why").decode(Explanation.self)
            #expect(why.task.state == .suspended)
            #expect(!why.sentence.isEmpty)
        }
    }

    @Test func `A page of transfers with long texts ends early, without a gap before the next page`() async throws {
        let url = "https://example.org/" + String(repeating: "x", count: 16_000)
        let data = String(repeating: "d", count: 45_000)
        let long = Array(repeating: "{\"url\":\"\(url)\"}", count: 400)
        let noted = Array(repeating: "{\"url\":\"http://a/\",\"clientData\":\"\(data)\"}", count: 200)
        let tasks = (long + noted).joined(separator: ",")
        try await withAPI { server, _ in
            let accepted = try await server.request("POST", "/v1/tasks", body: "{\"tasks\":[\(tasks)]}")
            let ids = try accepted.decode(EnqueueResponse.self).ids
            #expect(ids.count == 600)
            var listed: [TaskID] = []
            var next: TaskID?
            repeat {
                let after = next.map { "&after=\($0)" } ?? ""
                let answer = try await server.request("GET", "/v1/tasks?limit=1000" + after)
                #expect(answer.body.count < 2 * Limits.pageBytes)
                let page = try answer.decode(TaskPage.self)
                #expect(!page.tasks.isEmpty || page.next == nil)
                listed += page.tasks.map(\.id)
                next = page.next
            } while next != nil && listed.count <= ids.count
            #expect(listed == ids)
        }
    }

    @Test func `The API pauses, resumes, cancels and removes transfers`() async throws {
        try await withAPI { server, _ in
            let ids = try await server.request("POST", "/v1/tasks", body: two).decode(EnqueueResponse.self).ids
            let path = "/v1/tasks/\(ids[0])"
            #expect(try await server.request("POST", path + "/suspend").decode(TaskStatus.self).state == .suspended)
            #expect(try await server.request("POST", path + "/resume").decode(TaskStatus.self).state == .waiting)
            #expect(try await server.request("DELETE", path).status == 409)
            #expect(try await server.request("POST", path + "/cancel").decode(TaskStatus.self).state == .cancelled)
            #expect(try await server.request("GET", path + "/content").problem.status == 404)
            #expect(try await server.request("DELETE", path).status == 204)
            #expect(try await server.request("GET", path).problem.type == "/problems/not-found")
            let body = "{\"producingResumeData\":true}"
            let other = try await server.request("POST", "/v1/tasks/\(ids[1])/cancel", body: body)
            #expect(try other.decode(TaskStatus.self).state == .cancelled)
        }
    }

    @Test func `A retry request starts a transfer that waits after a failure`() async throws {
        try await withAPI { server, _ in
            let ids = try await server.request("POST", "/v1/tasks", body: two).decode(EnqueueResponse.self).ids
            #expect(try await server.request("POST", "/v1/tasks/\(ids[0])/retry").decode(TaskStatus.self).id == ids[0])
            #expect(try await server.request("POST", "/v1/tasks/\(ids[1])/retry").problem.status == 409)
            #expect(try await server.request("POST", "/v1/tasks/99/retry").problem.status == 404)
            let all = try await server.request("POST", "/v1/retry").decode(RetryResponse.self)
            #expect(all.refused.isEmpty)
            let some = try await server.request("POST", "/v1/retry", body: "{\"tasks\":[\(ids[1]),99]}")
            #expect(try some.decode(RetryResponse.self).refused.map(\.problem.status) == [409, 404])
            #expect(try await server.request("POST", "/v1/retry", body: "{\"tasks\":[]}").problem.status == 422)
            let none = try await server.request("POST", "/v1/retry", body: "{\"tasks\":[\(ids[1]),0]}").problem
            #expect(none.status == 422 && none.pointer == "/tasks/1")
        }
    }

    @Test func `The API accepts any text as a session name`() async throws {
        try await withAPI { server, _ in
            let path = "/v1/sessions/org.example%2Fa%20b"
            let put = try await server.request("PUT", path, body: "{\"httpMaximumConnectionsPerHost\":2}")
            #expect(try put.decode(SessionStatus.self).id.rawValue == "org.example/a b")
            let session = try await server.request("GET", path).decode(SessionStatus.self)
            #expect(session.settings.httpMaximumConnectionsPerHost == 2)
            let list = try await server.request("GET", "/v1/sessions").decode(SessionList.self)
            #expect(list.sessions.map(\.id.rawValue).contains("org.example/a b"))
            #expect(try await server.request("DELETE", path).status == 204)
            #expect(try await server.request("GET", path).status == 404)
        }
    }

    @Test func `The API returns settings, status and journal`() async throws {
        try await withAPI { server, _ in
            let changed = try await server.request("PATCH", "/v1/settings", body: "{\"rateLimit\":1000}")
            #expect(try changed.decode(ServiceSettings.self).rateLimit == 1000)
            #expect(try await server.request("GET", "/v1/settings").decode(ServiceSettings.self).rateLimit == 1000)
            _ = try await server.request("POST", "/v1/tasks", body: two)
            let status = try await server.request("GET", "/v1/status").decode(ServiceStatus.self)
            #expect(status.tasks["suspended"] == 1)
            let page = try await server.request("GET", "/v1/journal?limit=1").decode(JournalPage.self)
            #expect(page.entries.count == 1)
            let next = try #require(page.next)
            let rest = try await server.request("GET", "/v1/journal?after=\(next)").decode(JournalPage.self)
            #expect(rest.entries.allSatisfy { $0.id > next })
        }
    }

    @Test(
        arguments: [
            ("GET", "/v1/tasks/0", nil, 400), ("GET", "/v1/tasks/x", nil, 400), ("GET", "/v1/tasks/7", nil, 404),
            ("GET", "/v1/tasks?state=running,", nil, 400), ("GET", "/v1/tasks?state=idle", nil, 400),
            ("GET", "/v1/tasks?limit=0", nil, 400), ("GET", "/v1/tasks?limit=1001", nil, 400),
            ("GET", "/v1/journal?task=a", nil, 400), ("GET", "/v1/events?task=1,,2", nil, 400),
            ("GET", "/v1/events?progress=yes", nil, 400), ("GET", "/v1/events?lastEventID=-1", nil, 400),
            ("POST", "/v1/tasks", "{\"tasks\":[]}", 422), ("POST", "/v1/tasks", "{\"tasks\":[{}]}", 422),
            ("POST", "/v1/tasks", "{\"tasks\":[{\"url\":\"ftp://a/\"}]}", 422),
            ("PATCH", "/v1/settings", "{\"maximumTransfers\":0}", 422),
            ("PUT", "/v1/sessions/a", "{\"idleTimeout\":0}", 422), ("PUT", "/v1/sessions/%01", "{}", 422),
            ("POST", "/v1/tasks/7/suspend", nil, 404),
        ] as [(String, String, String?, Int)])
    func `The API refuses invalid requests with a problem`(method: String, target: String, body: String?, status: Int)
        async throws
    {
        let answer = try await withAPI { server, _ in try await server.request(method, target, body: body) }
        #expect(answer.status == status)
        #expect(try answer.problem.status == status)
    }

    @Test(arguments: [false, true])
    func `An event stream continues after the last received event`(inField: Bool) async throws {
        try await withAPI { server, _ in
            _ = try await server.request("POST", "/v1/tasks", body: two)
            let last = try await server.request("GET", "/v1/status").decode(ServiceStatus.self).lastJournalEntry
            let reader = try server.client()
            // The field takes precedence over the parameter.
            let target = inField ? "/v1/events?lastEventID=\(last)" : "/v1/events?lastEventID=\(last - 1)"
            try await reader.send(
                UnixClient.head("GET", target, headers: inField ? ["Last-Event-ID": "\(last - 1)"] : [:]))
            let replayed = try await reader.receive(through: "id: \(last)\n")
            #expect(!replayed.contains("id: \(last - 1)\n"))
            _ = try await server.request("POST", "/v1/tasks", body: two)
            #expect(try await reader.receive(through: "id: \(last + 1)\n").contains("event: journal"))
        }
    }

    @Test func `A shutdown request is answered and starts the shutdown`() async throws {
        let asked = Watched(0)
        try await withAPI(asked: asked) { server, _ in
            let answer = try await server.request("POST", "/v1/shutdown")
            #expect(answer.status == 202)
        }
        #expect(asked.read { $0 } == 1)
    }

    @Test func `The API serves the OpenAPI document unchanged`() async throws {
        let answer = try await withAPI { server, _ in try await server.request("GET", "/v1/openapi.json") }
        #expect(answer.headers["content-type"] == "application/json")
        #expect(answer.text == String(decoding: OpenAPI.document, as: UTF8.self))
    }
}
