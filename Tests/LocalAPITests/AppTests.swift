import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import LocalAPI

/// Tests of requests that people make about apps, with real services and real processes.
@Suite struct AppTests {
    /// Writes a desktop entry whose program prints a line and waits until it is ended.
    private func entry(in directory: TemporaryDirectory, modes: String = "transfer;") throws -> String {
        let script = try directory.write("echo one two three\nexec sleep 60\n", to: "program")
        return try directory.write(
            """
            [Desktop Entry]
            Type=Application
            Name=Photos
            Exec=sh \(script)
            X-Nightshift-BackgroundModes=\(modes)

            """, to: "org.example.Photos.desktop")
    }

    private func install(_ server: TestServer, _ test: TestService) async throws {
        let body = "{\"entry\":\"\(try entry(in: test.directory))\"}"
        let answer = try await server.request("POST", "/v1/apps", body: body)
        #expect(answer.status == 200, "\(answer.text)")
    }

    @Test func `R9: The API installs, shows and removes a desktop entry`() async throws {
        try await withAPI { server, test in
            #expect(try await server.request("GET", "/v1/apps").decode(AppList.self).apps == [])
            try await install(server, test)
            let apps = try await server.request("GET", "/v1/apps").decode(AppList.self).apps
            #expect(apps.map(\.id.rawValue) == ["org.example.Photos"])
            let app = try await server.request("GET", "/v1/apps/org.example.Photos").decode(AppStatus.self)
            #expect(app.name == "Photos" && app.manifest?.modes == [.transfer] && app.state == .notRunning)
            let why = try await server.request("GET", "/v1/apps/org.example.Photos/why").decode(AppExplanation.self)
            #expect(why.app == app && !why.sentence.isEmpty)
            #expect(try await server.request("DELETE", "/v1/apps/org.example.Photos").status == 204)
            #expect(try await server.request("GET", "/v1/apps/org.example.Photos").problem.status == 404)
        }
    }

    @Test func `R9: The API reports the line and key of an error in a desktop entry`() async throws {
        try await withAPI { server, test in
            let path = try entry(in: test.directory, modes: "fetsh;")
            let problem = try await server.request("POST", "/v1/apps", body: "{\"entry\":\"\(path)\"}").problem
            #expect(problem.status == 422 && problem.pointer == "/entry")
            let detail = try #require(problem.detail)
            #expect(detail.contains("line 5") && detail.contains("X-Nightshift-BackgroundModes"), "\(detail)")
        }
    }

    @Test(arguments: ["/", "/nonexistent/a.desktop", "/tmp", "a.desktop", "", "/etc/.desktop", "/\\u0000.desktop"])
    func `R9: Installing a file that is not a desktop entry causes no internal error`(path: String) async throws {
        let answer = try await withAPI { server, _ in
            try await server.request("POST", "/v1/apps", body: "{\"entry\":\"\(path)\"}")
        }
        #expect([400, 404, 409, 422].contains(try answer.problem.status), "\(answer.text)")
    }

    @Test func `L7: The API serves the snapshot file of an app only if it is a picture`() async throws {
        try await withAPI { server, test in
            let picture = test.directory.path("picture")
            let keys = "transfer;\nX-Nightshift-Snapshot=\(picture)"
            let body = "{\"entry\":\"\(try entry(in: test.directory, modes: keys))\"}"
            #expect(try await server.request("POST", "/v1/apps", body: body).status == 200)
            let path = "/v1/apps/org.example.Photos/snapshot"
            #expect(try await server.request("GET", path).problem.status == 404)
            let good = ProcessTests.picture
            try test.directory.write(good, to: "picture")
            let answer = try await server.request("GET", path)
            #expect(answer.body == good && answer.headers["content-type"] == "image/png")
            #expect(answer.headers["x-content-type-options"] == "nosniff")
            let large = good + [UInt8](repeating: 0, count: Limits.snapshotBytes)
            for bad in [Array("<script>alert(1)</script>".utf8), [], Array(good.prefix(20)), large] {
                try test.directory.write(bad, to: "picture")
                let problem = try await server.request("GET", path).problem
                #expect(problem.status == 409 && problem.detail?.contains(picture) == true, "\(problem)")
            }
            unlink(picture)
            #expect(mkfifo(picture, 0o600) == 0)
            #expect(try await server.request("GET", path).problem.status == 409, "and nobody waits for its writer")
        }
    }

    @Test func `L1: The API launches an app, returns its output and ends it`() async throws {
        try await withAPI { server, test in
            try await install(server, test)
            let path = "/v1/apps/org.example.Photos"
            #expect(try await server.request("GET", path + "/log").problem.status == 404)
            let answer = try await server.request("POST", path + "/launch")
            #expect(answer.status == 200, "\(answer.text)")
            let launched = try answer.decode(AppStatus.self)
            let process = try #require(launched.processID)
            #expect(kill(process, 0) == 0 && launched.isManaged)
            try await eventually("the app's words") {
                try await server.request("GET", path + "/log").text == "one two three\n"
            }
            let log = try await server.request("GET", path + "/log")
            #expect(log.headers["content-type"] == "text/plain")
            #expect(log.headers["x-content-type-options"] == "nosniff", "whatever the app has written")
            #expect(try await server.request("GET", path + "/log?after=4").text == "two three\n")
            #expect(try await server.request("GET", path + "/log?after=4&limit=3").text == "two")
            let behind = try await server.request("GET", path + "/log?after=100&limit=3")
            #expect(behind.status == 200 && behind.body.isEmpty)
            #expect(try await server.request("GET", path + "/log?after=\(Int64.max)&limit=\(Int64.max)").status == 200)

            let killed = try await server.request("POST", path + "/kill").decode(AppStatus.self)
            #expect(killed.state == .notRunning && killed.lastExit?.cause == .killed && killed.processID == nil)
            #expect(kill(process, 0) != 0)
            #expect(try await server.request("POST", path + "/kill").problem.status == 409)
        }
    }

    @Test func `T9: A session name that a person used first belongs to the app once the app adds transfers`()
        async throws
    {
        try await withAPI { server, test in
            try await install(server, test)
            let task = #""tasks":[{"url":"http://127.0.0.1:1/"}]"#
            let others = #"{"session":"org.example.Photos:photos",\#(task)}"#
            #expect(try await server.request("POST", "/v1/tasks", body: others).status == 201)
            let own = #"{"app":"org.example.Photos","session":"photos",\#(task)}"#
            #expect(try await server.request("POST", "/v1/tasks", body: own).status == 201)
            let sessions = try await server.request("GET", "/v1/sessions").decode(SessionList.self).sessions
            let session = try #require(sessions.first { $0.id.rawValue == "org.example.Photos:photos" })
            #expect(session.app?.rawValue == "org.example.Photos" && session.name == "photos" && session.tasks == 2)
        }
    }

    @Test func `L1: The API refuses launch arguments that no program can receive`() async throws {
        try await withAPI { server, test in
            try await install(server, test)
            let body = #"{"arguments":["a","b\u0000c"]}"#
            let problem = try await server.request("POST", "/v1/apps/org.example.Photos/launch", body: body).problem
            #expect(problem.status == 422 && problem.pointer == "/arguments/1")
            let app = try await server.request("GET", "/v1/apps/org.example.Photos").decode(AppStatus.self)
            #expect(app.processID == nil && app.lastExit == nil)
        }
    }

    @Test func `L1: The API does not launch an app that you have force-quit`() async throws {
        try await withAPI { server, test in
            try await install(server, test)
            let path = "/v1/apps/org.example.Photos"
            let body = "{\"background\":true,\"arguments\":[\"x\"]}"
            #expect(try await server.request("POST", path + "/launch", body: body).status == 200)
            let quit = try await server.request("POST", path + "/quit", body: "{\"force\":true}")
            #expect(try quit.decode(AppStatus.self).isForceQuit)
            let again = try await server.request("POST", path + "/activate").decode(AppStatus.self)
            #expect(!again.isForceQuit && again.processID != nil)
            _ = try await server.request("POST", path + "/kill")
        }
    }

    @Test(arguments: [
        ("GET", ""), ("DELETE", ""), ("GET", "/why"), ("GET", "/log"), ("GET", "/snapshot"), ("POST", "/launch"),
        ("POST", "/activate"), ("POST", "/background"), ("POST", "/quit"), ("POST", "/kill"),
    ])
    func `L1: The API answers 404 for an unknown app`(method: String, rest: String) async throws {
        try await withAPI { server, _ in
            for id in ["org.example.None", "%2Fusr%2Fbin%2Fnone", "%00", "a%2F..%2Fb", ".desktop"] {
                let answer = try await server.request(method, "/v1/apps/\(id)\(rest)")
                #expect(try answer.problem.status == 404, "\(id): \(answer.text)")
            }
        }
    }

    @Test(
        arguments: [
            ("POST", "/v1/apps", "{}"), ("POST", "/v1/apps", "{\"entry\":1}"),
            ("POST", "/v1/apps/a/quit", "{\"forc\":1}"),
            ("POST", "/v1/apps/a/launch", "{\"arguments\":[1]}"), ("GET", "/v1/apps/a/log?after=-1", nil),
            ("GET", "/v1/apps/a/log?limit=0", nil), ("GET", "/v1/apps?x=1", nil),
        ] as [(String, String, String?)])
    func `The API refuses a malformed app request with a problem`(method: String, target: String, body: String?)
        async throws
    {
        let answer = try await withAPI { server, _ in try await server.request(method, target, body: body) }
        #expect(try answer.problem.status == 400)
    }
}
