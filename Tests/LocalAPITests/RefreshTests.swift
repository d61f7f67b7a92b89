import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import LocalAPI

/// Tests of background refresh with real services and real processes.
@Suite struct RefreshTests {
    private let path = "/v1/refresh/org.example.Feeds"
    private let tasks = "/v1/refresh/org.example.Feeds/scheduled-tasks"

    /// Installs an app whose wake command runs `script`.
    private func install(
        _ server: TestServer, _ test: TestService, modes: String = "fetch;processing;",
        keys: String = "X-Nightshift-FetchInterval=minimum", wake script: String = "exit 0"
    ) async throws {
        let entry = try entry(test, modes: modes, keys: keys, wake: script)
        let answer = try await server.request("POST", "/v1/apps", body: "{\"entry\":\"\(entry)\"}")
        #expect(answer.status == 200, "\(answer.text)")
    }

    /// Writes the desktop entry of an app, and returns its path for the installation.
    private func entry(
        _ test: TestService, modes: String = "fetch;processing;", keys: String, wake script: String
    ) throws -> String {
        let wake = try test.directory.write(script + "\n", to: "wake")
        return try test.directory.write(
            """
            [Desktop Entry]
            Type=Application
            Name=Feeds
            Exec=sleep 60
            X-Nightshift-Wake=sh \(wake)
            X-Nightshift-BackgroundModes=\(modes)
            \(keys)

            """, to: "org.example.Feeds.desktop")
    }

    private func status(_ server: TestServer) async throws -> AppRefreshStatus {
        try await server.request("GET", path).decode(AppRefreshStatus.self)
    }

    /// Opens a command stream of this process as the app's process.
    private func connect(_ server: TestServer, app: String) async throws -> (client: UnixClient, text: String) {
        let client = try server.client()
        try await client.send(UnixClient.head("GET", "/v1/process/commands?app=\(app)"))
        let text = try await client.receive(through: "\"availability\":")
        // An event arrives as one piece.
        #expect(text.contains("event: refresh\ndata: {\"availability\":\"available\"}\n\n"), "\(text)")
        return (client, text)
    }

    @Test func `R1: The API shows the user's interval if set, otherwise the desktop entry's`()
        async throws
    {
        try await withAPI { server, test in
            let empty = try await server.request("GET", "/v1/refresh").decode(RefreshStatus.self)
            #expect(empty.isOn && empty.apps.isEmpty && empty.budget.dailyEnergy > 0)
            try await install(server, test)
            let all = try await server.request("GET", "/v1/refresh").decode(RefreshStatus.self)
            #expect(all.apps.map(\.app.rawValue) == ["org.example.Feeds"])
            let app = try await status(server)
            #expect(app.interval == .minimum && app.intervalSource == .entry && app.availability == .available)
            #expect(app.isOn && app.scheduled.isEmpty && !app.sentence.isEmpty)

            let change = #"{"interval":"900","dailyCap":4,"isOn":false}"#
            let changed = try await server.request("PATCH", path, body: change).decode(AppRefreshStatus.self)
            #expect(changed.interval == .seconds(900) && changed.intervalSource == .user && changed.dailyCap == 4)
            #expect(!changed.isOn && changed.availability == .denied)
            let back = #"{"interval":"default","dailyCap":-1,"isOn":true}"#
            let again = try await server.request("PATCH", path, body: back).decode(AppRefreshStatus.self)
            #expect(again.interval == .minimum && again.intervalSource == .entry && again.dailyCap == nil)
            #expect(again.availability == .available)
        }
    }

    @Test func `R1: The API sets the switch for all apps and the daily budget`() async throws {
        try await withAPI { server, test in
            try await install(server, test)
            let off = try await server.request("PATCH", "/v1/refresh", body: #"{"isOn":false,"dailyBytes":5000}"#)
                .decode(RefreshStatus.self)
            #expect(!off.isOn && off.budget.dailyBytes == 5_000)
            #expect(try await status(server).availability == .denied)
            let on = try await server.request("PATCH", "/v1/refresh", body: #"{"isOn":true}"#)
                .decode(RefreshStatus.self)
            #expect(on.isOn && on.budget.dailyBytes == 5_000)
        }
    }

    @Test(arguments: [(0, RefreshResult.newData), (10, .noData), (3, .failed)])
    func `R1: A requested fetch starts at once, and gets its result from the exit status`(
        code: Int, result: RefreshResult
    ) async throws {
        try await withAPI { server, test in
            // The test has switched off automatic fetches.
            #expect(try await server.request("PATCH", "/v1/refresh", body: #"{"isOn":false}"#).status == 200)
            try await install(server, test, wake: "test \"$NIGHTSHIFT_WAKE\" = fetch || exit 99\nexit \(code)")
            let begun = try await server.request("POST", path + "/fetch")
            #expect(begun.status == 200, "\(begun.text)")
            #expect(try begun.decode(AppRefreshStatus.self).fetches.count == 1)
            try await eventually("the end of the fetch") { try await status(server).fetches.last?.result != nil }
            let fetch = try #require(try await status(server).fetches.last)
            #expect(fetch.result == result && fetch.ended != nil && fetch.identifier == nil)
        }
    }

    @Test func `R9: The API refuses a task that the desktop entry does not declare, naming the key`() async throws {
        try await withAPI { server, test in
            try await install(server, test, modes: "transfer;")
            let fetch = try await server.request("POST", path + "/fetch").problem
            #expect(fetch.status == 409 && fetch.detail?.contains("X-Nightshift-BackgroundModes") == true)
            let body = #"{"identifier":"feeds.clean","kind":"processing"}"#
            let task = try await server.request("POST", tasks, body: body).problem
            #expect(task.type == "/problems/task-not-permitted" && task.status == 403)
            #expect(task.detail?.contains("X-Nightshift-BackgroundModes") == true)
        }
    }

    @Test func `R10: The user submits, lists and cancels a scheduled task of an app`() async throws {
        try await withAPI { server, test in
            try await install(server, test, keys: "X-Nightshift-TaskIdentifiers=feeds.clean;")
            let later = #"{"identifier":"feeds.clean","kind":"processing","earliestBegin":"2099-01-01T00:00:00Z"}"#
            #expect(try await server.request("POST", tasks, body: later).status == 204)
            #expect(try await server.request("POST", tasks, body: later).status == 204)
            let list = try await server.request("GET", tasks).decode(ScheduledTaskList.self)
            #expect(list.tasks.map(\.identifier) == ["feeds.clean"] && list.tasks[0].kind == .processing)
            let shown = try await status(server).scheduled
            #expect(shown.count == 1 && shown[0].began == nil)
            #expect(try await server.request("DELETE", tasks + "/feeds.clean").status == 204)
            #expect(try await server.request("GET", tasks).decode(ScheduledTaskList.self).tasks.isEmpty)

            let other = try await server.request("POST", tasks, body: #"{"identifier":"b","kind":"refresh"}"#).problem
            #expect(other.type == "/problems/task-not-permitted")
            #expect(other.detail?.contains("X-Nightshift-TaskIdentifiers") == true)
            let continued = #"{"identifier":"feeds.clean","kind":"continued","title":"t"}"#
            #expect(try await server.request("POST", tasks, body: continued).problem.status == 422)
        }
    }

    @Test func `R1: A process sets its interval and is notified whether it is refreshed`() async throws {
        try await withAPI { server, test in
            try await install(server, test, keys: "")
            let (client, text) = try await connect(server, app: "org.example.Feeds")
            defer { withExtendedLifetime(client) {} }
            let hello = try #require(text.range(of: "event: hello\n"))
            let notice = try #require(text.range(of: "event: refresh\ndata: {\"availability\":\"available\"}\n\n"))
            #expect(hello.lowerBound < notice.lowerBound)
            let set = try await server.request("PUT", "/v1/process/refresh", body: #"{"interval":"1800"}"#)
            #expect(set.status == 204 && set.body.isEmpty, "\(set.text)")
            let app = try await status(server)
            #expect(app.interval == .seconds(1_800) && app.intervalSource == .app)
            #expect(try await server.request("PATCH", "/v1/refresh", body: #"{"isOn":false}"#).status == 200)
            let change = try await client.receive(through: "\"availability\":\"denied\"}\n\n")
            #expect(change.contains("event: refresh\n"))
        }
    }

    @Test func `R1: A process with a manually copied desktop entry is notified of its refresh status`() async throws {
        try await withAPI { server, test in
            let entry = try entry(test, keys: "", wake: "exit 0")
            let applications = test.directory.path("data/applications")
            try FileManager.default.createDirectory(atPath: applications, withIntermediateDirectories: true)
            try FileManager.default.moveItem(atPath: entry, toPath: applications + "/org.example.Feeds.desktop")
            let (client, _) = try await connect(server, app: "org.example.Feeds")
            withExtendedLifetime(client) {}
        }
    }

    @Test func `R10: A process submits, lists and cancels its scheduled tasks`() async throws {
        try await withAPI { server, test in
            try await install(server, test, keys: "X-Nightshift-TaskIdentifiers=feeds.clean;feeds.index;")
            let (client, _) = try await connect(server, app: "org.example.Feeds")
            defer { withExtendedLifetime(client) {} }
            let own = "/v1/process/scheduled-tasks"
            func submit(_ identifier: String) async throws -> Answer {
                try await server.request(
                    "POST", own,
                    body: "{\"identifier\":\"\(identifier)\",\"kind\":\"processing\","
                        + "\"earliestBegin\":\"2099-01-01T00:00:00Z\"}")
            }
            func pending() async throws -> [String] {
                try await server.request("GET", own).decode(ScheduledTaskList.self).tasks.map(\.identifier).sorted()
            }
            #expect(try await submit("feeds.clean").status == 204)
            #expect(try await submit("feeds.index").status == 204)
            #expect(try await pending() == ["feeds.clean", "feeds.index"])
            #expect(try await server.request("DELETE", own + "/feeds.clean").status == 204)
            #expect(try await pending() == ["feeds.index"])
            #expect(try await server.request("DELETE", own).status == 204)
            #expect(try await pending().isEmpty)
            #expect(try await submit("feeds.none").problem.type == "/problems/task-not-permitted")
        }
    }

    @Test func `R1: The API refuses an expiration request without a running task`() async throws {
        try await withAPI { server, test in
            try await install(server, test, keys: "X-Nightshift-TaskIdentifiers=feeds.clean;")
            #expect(try await server.request("POST", path + "/expire").problem.status == 409)
            let body = #"{"identifier":"feeds.clean"}"#
            let problem = try await server.request("POST", path + "/expire", body: body).problem
            #expect(problem.status == 409 && problem.detail?.contains("feeds.clean") == true)
        }
    }

    @Test func `R2: Deleting the learned usage keeps the settings`() async throws {
        try await withAPI { server, test in
            try await install(server, test)
            #expect(try await server.request("PATCH", path, body: #"{"dailyCap":7}"#).status == 200)
            let one = try await server.request("POST", path + "/forget").decode(AppRefreshStatus.self)
            #expect(one.dailyCap == 7 && one.openings.allSatisfy { $0.isFinite })
            let all = try await server.request("POST", "/v1/forget-use").decode(RefreshStatus.self)
            #expect(all.apps.first?.dailyCap == 7)
            let journal = try await server.request("GET", "/v1/journal?limit=1000").decode(JournalPage.self)
            #expect(journal.entries.contains { $0.decision == .learnedForgotten })
        }
    }

    @Test(
        arguments: [
            ("GET", "", nil), ("PATCH", "", "{\"isOn\":true}"), ("POST", "/fetch", nil), ("POST", "/forget", nil),
            ("POST", "/expire", nil), ("GET", "/scheduled-tasks", nil),
            ("POST", "/scheduled-tasks", "{\"identifier\":\"a\",\"kind\":\"refresh\"}"),
            ("DELETE", "/scheduled-tasks/a", nil),
        ] as [(String, String, String?)])
    func `R1: The API answers 404 to refresh requests for an unknown app`(method: String, rest: String, body: String?)
        async throws
    {
        try await withAPI { server, _ in
            for id in ["org.example.None", "%2Fusr%2Fbin%2Fnone", "a%2F..%2Fb"] {
                let answer = try await server.request(method, "/v1/refresh/\(id)\(rest)", body: body)
                #expect(try answer.problem.status == 404, "\(id): \(answer.text)")
            }
        }
    }

    @Test(
        arguments: [
            ("PATCH", "/v1/refresh", "{\"isOn\":1}", 400), ("PATCH", "/v1/refresh", "{\"on\":true}", 400),
            ("PATCH", "/v1/refresh", "{\"dailyBytes\":-1}", 422),
            ("PATCH", "/v1/refresh/org.example.Feeds", "{\"interval\":\"often\"}", 422),
            ("PATCH", "/v1/refresh/org.example.Feeds", "{\"dailyCap\":-2}", 422),
            ("PUT", "/v1/process/refresh", "{\"interval\":\"often\"}", 400),
            ("PUT", "/v1/process/refresh", "{}", 400),
            ("POST", "/v1/process/scheduled-tasks", "{\"identifier\":\"a\",\"kind\":\"sometimes\"}", 400),
            ("GET", "/v1/refresh?app=a", nil, 400),
        ] as [(String, String, String?, Int)])
    func `R1: The API refuses an invalid refresh request with a problem`(
        method: String, target: String, body: String?, status: Int
    ) async throws {
        try await withAPI { server, test in
            try await install(server, test)
            let answer = try await server.request(method, target, body: body)
            #expect(try answer.problem.status == status, "\(answer.text)")
        }
    }
}
