import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NightshiftAPI
import Operations
import TestSupport
import Testing

@testable import LocalAPI

/// Tests with the process of an app. This process is the test process, which the service identifies by its connections.
@Suite struct ProcessTests {
    /// The beginning of a PNG file of two by three pixels.
    static let picture: [UInt8] =
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
        + [0, 0, 0, 2, 0, 0, 0, 3, 8, 6, 0, 0, 0, 9, 9, 9, 9] + Array("rest".utf8)
    private let sessionPath = "/v1/process/sessions/photos%20of%20mine"

    /// Opens a stream, and returns it with its first text up to `mark`.
    private func stream(_ server: TestServer, _ target: String, through mark: String) async throws -> (
        client: UnixClient, text: String
    ) {
        let client = try server.client()
        try await client.send(UnixClient.head("GET", target))
        return (client, try await client.receive(through: mark))
    }

    private func connect(
        _ server: TestServer, app: String? = nil
    ) async throws -> (client: UnixClient, hello: ProcessHello) {
        let target = "/v1/process/commands" + (app.map { "?app=\($0)" } ?? "")
        let (client, text) = try await stream(server, target, through: "}\n\n")
        return (client, try event(text, "hello", ProcessHello.self))
    }

    /// Returns the data of the first event with this name.
    private func event<Value: Decodable>(_ text: String, _ name: String, _ type: Value.Type) throws -> Value {
        let start = try #require(text.range(of: "event: \(name)\ndata: "), "\(text)")
        return try JSON.decode(type, from: Data(text[start.upperBound...].prefix { $0 != "\n" }.utf8))
    }

    @Test(
        arguments: [
            ("POST", "/acknowledge", "{\"command\":1}"), ("POST", "/state", "{\"state\":\"active\"}"),
            ("PUT", "/sessions/a", "{}"), ("DELETE", "/sessions/a", nil), ("GET", "/sessions/a/tasks", nil),
            ("POST", "/sessions/a/tasks", "{\"tasks\":[]}"), ("GET", "/sessions/a/messages", nil),
            ("POST", "/sessions/a/acknowledge", "{\"messages\":[]}"),
            ("POST", "/sessions/a/answers", "{\"message\":1,\"disposition\":\"cancel\"}"),
            ("PUT", "/refresh", "{\"interval\":\"minimum\"}"), ("GET", "/scheduled-tasks", nil),
            ("POST", "/scheduled-tasks", "{\"identifier\":\"a\",\"kind\":\"refresh\"}"),
            ("DELETE", "/scheduled-tasks", nil), ("DELETE", "/scheduled-tasks/a", nil),
            ("PATCH", "/scheduled-tasks/a", "{\"completedUnits\":1}"),
        ] as [(String, String, String?)])
    func `T1: The API refuses a process that is not connected, and gives that reason`(
        method: String, rest: String, body: String?
    )
        async throws
    {
        let answer = try await withAPI { server, _ in
            try await server.request(method, "/v1/process" + rest, body: body)
        }
        #expect(try answer.problem.type == "/problems/not-connected")
        #expect(answer.status == 409)
    }

    @Test func `L1: The service identifies a process by its connection and notifies it of state changes`() async throws
    {
        try await withAPI { server, _ in
            let (client, hello) = try await connect(server)
            let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            #expect(hello.app.rawValue == program && !hello.isInstalled && !hello.isManaged)
            let path = "/v1/apps/" + program.replacing("/", with: "%2F")
            let change = try await server.request("POST", "/v1/process/state", body: "{\"state\":\"active\"}")
            #expect(change.status == 204 && change.body.isEmpty)
            let status = try await server.request("GET", path).decode(AppStatus.self)
            #expect(status.state == .active && status.isConnected && status.processID == getpid())

            // The window system reports the state this time, so the process must be notified.
            #expect(try await server.request("POST", path + "/background").status == 200)
            let command = try event(
                try await client.receive(through: "\"background\"}\n\n"), "command", ProcessCommand.self)
            #expect(command.action == .enter)
            let done = try await server.request(
                "POST", "/v1/process/acknowledge", body: "{\"command\":\(command.number)}")
            #expect(done.status == 204)
            let presentation = try await server.request(
                "POST", "/v1/process/acknowledge", body: "{\"command\":\(command.number),\"presentation\":32}")
            #expect(try presentation.problem.status == 422 && presentation.problem.pointer == "/presentation")
            let state = try await server.request("POST", "/v1/process/state", body: "{\"state\":\"suspended\"}")
            #expect(try [400, 422].contains(state.problem.status))
        }
    }

    @Test func `L1: The API refuses a request that names a replaced command stream`() async throws {
        try await withAPI { server, _ in
            let (first, hello) = try await connect(server)
            defer { withExtendedLifetime(first) {} }
            let name = try #require(hello.channel)
            func change(_ channel: String) async throws -> Answer {
                try await server.request(
                    "POST", "/v1/process/state", headers: ["Nightshift-Channel": channel],
                    body: "{\"state\":\"active\"}")
            }
            #expect(try await change(name).status == 204)
            let (second, next) = try await connect(server)
            defer { withExtendedLifetime(second) {} }
            #expect(next.channel != nil && next.channel != name)
            #expect(try await change(name).problem.type == "/problems/not-connected")
            #expect(try await change(try #require(next.channel)).status == 204)
            let stale = try await server.request(
                "PUT", "/v1/process/sessions/a", headers: ["Nightshift-Channel": name], body: "{}")
            #expect(try stale.problem.type == "/problems/not-connected")
            let task = try await server.request(
                "DELETE", "/v1/process/background-tasks/1", headers: ["Nightshift-Channel": name])
            #expect(try task.problem.type == "/problems/not-connected")
            // A request that names no stream is accepted.
            #expect(try await server.request("PUT", "/v1/process/sessions/a", body: "{}").status == 200)
        }
    }

    @Test func `L7: A snapshot must be a PNG of limited size`() async throws {
        try await withAPI { server, _ in
            let (client, hello) = try await connect(server)
            defer { withExtendedLifetime(client) {} }
            let path = "/v1/apps/\(hello.app.rawValue.replacing("/", with: "%2F"))/snapshot"
            #expect(try await server.request("GET", path).problem.status == 404)

            func put(_ bytes: [UInt8], _ headers: [String: String]) async throws -> Answer {
                let client = try server.client()
                try await client.send(
                    UnixClient.head(
                        "PUT", "/v1/process/snapshot",
                        headers: ["Content-Length": "\(bytes.count)"].merging(headers) { $1 }))
                try await client.send(bytes)
                return try await client.answer()
            }
            #expect(try await put(Self.picture, [:]).problem.status == 415)
            #expect(try await put(Self.picture, ["Content-Type": "application/json"]).problem.status == 415)
            #expect(try await put(Array("GIF89a".utf8), ["Content-Type": "image/png"]).problem.status == 422)
            #expect(try await put([], ["Content-Type": "image/png"]).problem.status == 422)
            let cut = Array(Self.picture.prefix(20))
            #expect(try await put(cut, ["Content-Type": "image/png"]).problem.status == 422)
            let large = ["Content-Type": "image/png", "Content-Length": "\(Limits.snapshotBytes + 1)"]
            #expect(try await put([], large).problem.status == 413)
            #expect(try await put(Self.picture, ["Content-Type": "Image/PNG"]).status == 204)
            let picture = try await server.request("GET", path)
            #expect(picture.body == Self.picture && picture.headers["content-type"] == "image/png")
            #expect(picture.headers["x-content-type-options"] == "nosniff")
        }
    }

    @Test func `T6: The API does not add transfers with existing numbers of the app again`() async throws {
        try await withAPI { server, _ in
            let (client, hello) = try await connect(server)
            defer { withExtendedLifetime(client) {} }
            #expect(try await server.request("GET", sessionPath + "/tasks").problem.status == 404)
            let attached = try await server.request("PUT", sessionPath, body: "{}").decode(SessionAttachment.self)
            #expect(attached.session == SessionID(app: hello.app, identifier: "photos of mine"))
            #expect(attached.nextTaskIdentifier == 1)
            let body = """
                {"tasks":[
                {"taskIdentifier":1,"request":{"url":"https://example.org/a","suspended":true},"clientData":"x"},
                {"taskIdentifier":7,"request":{"url":"https://example.org/b","suspended":true}}]}
                """
            let accepted = try await server.request("POST", sessionPath + "/tasks", body: body)
            #expect(accepted.status == 201)
            let ids = try accepted.decode(EnqueueResponse.self).ids
            let again = try await server.request("POST", sessionPath + "/tasks", body: body)
            #expect(try again.decode(EnqueueResponse.self).ids == ids && ids.count == 2)
            let page = try await server.request("GET", sessionPath + "/tasks?limit=1").decode(SessionTaskPage.self)
            #expect(page.tasks.map(\.clientData) == ["x"] && page.tasks.first?.task.taskIdentifier == 1)
            let next = try #require(page.next)
            let rest = try await server.request("GET", sessionPath + "/tasks?after=\(next)")
            #expect(try rest.decode(SessionTaskPage.self).tasks.map(\.task.taskIdentifier) == [7])
            #expect(
                try await server.request("PUT", sessionPath, body: "{}").decode(SessionAttachment.self)
                    .nextTaskIdentifier == 8)
        }
    }

    @Test func `T10: A process gets its messages again until it acknowledges them`() async throws {
        try await withAPI { server, _ in
            let (client, _) = try await connect(server)
            defer { withExtendedLifetime(client) {} }
            _ = try await server.request("PUT", sessionPath, body: "{}")
            let body = #"{"tasks":[{"taskIdentifier":1,"request":{"url":"https://example.org/a"},"clientData":"x"}]}"#
            let accepted = try await server.request("POST", sessionPath + "/tasks", body: body)
            let id = try #require(try accepted.decode(EnqueueResponse.self).ids.first)
            #expect(try await server.request("POST", "/v1/tasks/\(id)/cancel").status == 200)
            var last: Int64 = 0
            for _ in 0..<2 {
                let (_, text) = try await stream(server, sessionPath + "/messages", through: "}\n\n")
                let message = try event(text, "message", SessionMessage.self)
                #expect(message.kind == .ended && message.task.task.id == id && message.task.clientData == "x")
                #expect(text.contains("id: \(message.id)\nevent: message\n"))
                last = message.id
            }
            let done = try await server.request(
                "POST", sessionPath + "/acknowledge", body: "{\"messages\":[\(last)]}")
            #expect(done.status == 204)
            // The next message is the first message that a new reader receives.
            let more = #"{"tasks":[{"taskIdentifier":2,"request":{"url":"https://example.org/b"}}]}"#
            let second = try await server.request("POST", sessionPath + "/tasks", body: more)
            let secondID = try #require(try second.decode(EnqueueResponse.self).ids.first)
            _ = try await server.request("POST", "/v1/tasks/\(secondID)/cancel")
            let (_, text) = try await stream(server, sessionPath + "/messages", through: "}\n\n")
            #expect(try event(text, "message", SessionMessage.self).task.task.id == secondID)
        }
    }

    @Test func `T7: The API refuses an answer without a question`() async throws {
        try await withAPI { server, _ in
            let (client, _) = try await connect(server)
            defer { withExtendedLifetime(client) {} }
            _ = try await server.request("PUT", sessionPath, body: "{}")
            let answer = try await server.request(
                "POST", sessionPath + "/answers", body: "{\"message\":9,\"disposition\":\"cancel\"}")
            #expect(try answer.problem.status == 404)
        }
    }

    @Test func `T1: A session name must be short and printable`() async throws {
        try await withAPI { server, _ in
            let (client, _) = try await connect(server)
            defer { withExtendedLifetime(client) {} }
            let long = String(repeating: "x", count: Limits.sessionIdentifierLength + 1)
            for name in [long, "a%00", "a%0Ab", "%7F"] {
                let path = "/v1/process/sessions/\(name)"
                #expect(try await server.request("PUT", path, body: "{}").problem.status == 422)
                #expect(
                    try await server.request("POST", path + "/acknowledge", body: "{\"messages\":[]}").problem.status
                        == 422)
            }
        }
    }

    @Test func `T12: Invalidating a session removes it with its transfers`() async throws {
        try await withAPI { server, _ in
            let (client, _) = try await connect(server)
            defer { withExtendedLifetime(client) {} }
            _ = try await server.request("PUT", sessionPath, body: "{}")
            let body = #"{"tasks":[{"taskIdentifier":1,"request":{"url":"https://example.org/a"}}]}"#
            _ = try await server.request("POST", sessionPath + "/tasks", body: body)
            #expect(try await server.request("DELETE", sessionPath).status == 204)
            #expect(try await server.request("GET", sessionPath + "/tasks").problem.status == 404)
            #expect(try await server.request("GET", "/v1/tasks").decode(TaskPage.self).tasks.isEmpty)
        }
    }

    @Test func `T12: Only one process at a time can read a session`() async throws {
        try await withAPI { server, test in
            let entry = try test.directory.write(
                """
                [Desktop Entry]
                Type=Application
                Name=Photos
                Exec=sleep 60
                X-Nightshift-BackgroundModes=transfer;

                """, to: "org.example.Photos.desktop")
            _ = try await server.request("POST", "/v1/apps", body: "{\"entry\":\"\(entry)\"}")
            let (client, hello) = try await connect(server, app: "org.example.Photos")
            defer { withExtendedLifetime(client) {} }
            #expect(hello.isInstalled)
            _ = try await server.request("PUT", sessionPath, body: "{}")
            let (reader, _) = try await stream(server, sessionPath + "/messages", through: ": connected")
            defer { withExtendedLifetime(reader) {} }

            let script = try test.directory.write(
                """
                import socket, sys
                def ask(target, mark):
                    s = socket.socket(socket.AF_UNIX)
                    s.settimeout(240)
                    s.connect(sys.argv[1])
                    s.sendall(b"GET " + target.encode() + b" HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
                    text = b""
                    while mark not in text:
                        text += s.recv(65536) or sys.exit(3)
                    return s, text
                stream, _ = ask("/v1/process/commands?app=org.example.Photos", b"event: hello")
                _, answer = ask(sys.argv[2], b"}")
                sys.stdout.write(answer.decode())

                """, to: "second.py")
            let output = test.directory.path("out")
            let second = try ChildProcess(
                "python3", arguments: [script, server.path, sessionPath + "/messages"], output: .file(output),
                errors: .inherit)
            #expect(try await second.waitForExit() == .code(0))
            let text = try String(contentsOfFile: output, encoding: .utf8)
            #expect(text.hasPrefix("HTTP/1.1 409 ") && text.contains("/problems/session-in-use"), "\(text)")
        }
    }

    @Test func `R9: A session with launch events requires the background mode`() async throws {
        try await withAPI { server, test in
            let entry = try test.directory.write(
                "[Desktop Entry]\nType=Application\nName=P\nExec=sleep 60\nX-Nightshift-BackgroundModes=fetch;\n",
                to: "org.example.P.desktop")
            _ = try await server.request("POST", "/v1/apps", body: "{\"entry\":\"\(entry)\"}")
            let (client, _) = try await connect(server, app: "org.example.P")
            defer { withExtendedLifetime(client) {} }
            let refused = try await server.request("PUT", sessionPath, body: "{}").problem
            #expect(refused.status == 422 && refused.detail?.contains("X-Nightshift-BackgroundModes") == true)
            let quiet = try await server.request("PUT", sessionPath, body: "{\"sessionSendsLaunchEvents\":false}")
            #expect(quiet.status == 200)
        }
    }

    @Test func `Process streams have slots of their own`() async throws {
        let test = try makeService()
        defer { withExtendedLifetime(test) {} }
        let routes = Routes(test.operations, device: TestDevice().access, stop: {})
        try await withServer(routes: routes.all) { server in
            let places = try (0..<Limits.eventStreams).map { _ in try routes.streams.enter() }
            #expect(try await server.request("GET", "/v1/events").problem.status == 429)
            let (client, hello) = try await connect(server)
            #expect(hello.state != .suspended)
            withExtendedLifetime((places, client)) {}

            let all = try (1..<Limits.processStreams).map { _ in try routes.processStreams.enter() }
            #expect(try await server.request("GET", "/v1/process/commands").problem.status == 429)
            withExtendedLifetime(all) {}
        }
    }

    @Test func `The API refuses a process that the kernel cannot identify`() throws {
        #expect(try call(from: 1).process().id == 1)
        #expect(throws: Problem.self) { try call(from: 0).process() }
    }

    private func call(from process: Int32) throws -> Call {
        let context = CallContext(
            source: CallSource(
                logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
                caller: Caller(user: 1000, process: process)))
        let request = Request(
            head: HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/"),
            body: RequestBody(buffer: ByteBuffer()))
        return Call(request: request, context: context, query: try QueryParameters(nil, allowing: []))
    }
}
