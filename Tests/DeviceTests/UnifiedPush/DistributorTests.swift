import Device
import Foundation
import TestSupport
import Testing

/// Tests of the UnifiedPush distributor on a real bus, with an app written from the specification alone (mission row
/// B7).
@Suite(.timeLimit(.minutes(20))) struct DistributorTests {
    private static let app = "org.example.Chat"

    @Test(arguments: [DistributorVersion.one, .two])
    func `B7: An app registers, receives its endpoint and gets its messages byte for byte`(
        version: DistributorVersion
    ) async throws {
        let scene = try await DistributorScene(app: Self.app, version: version)
        let app = try scene.run("--register", "secret", "--stay", "60")
        let (call, wanted) = try await scene.registration()
        #expect(
            wanted
                == DistributorRegistration(
                    service: Self.app, token: "secret", description: "An account", version: version))
        scene.distributor.perform(.answer(call: call, .registered))
        let answer = try await scene.line { $0["call"] as? String == "answer" }
        #expect(answer["success"] as? String == "REGISTRATION_SUCCEEDED")
        let bytes = (0..<4_096).map { UInt8(truncatingIfNeeded: $0) }
        let contents: [ConnectorCall.Content] = [
            .endpoint("https://push.example/up/1"), .message(bytes, id: "m-1"), .unregistered(isConfirmation: true),
        ]
        for (number, content) in contents.enumerated() {
            scene.call(UInt64(number + 1), content)
            #expect(try await scene.outcome(UInt64(number + 1)) == .returned)
        }
        let lines = try scene.lines().filter { $0["version"] != nil }
        #expect(lines.map { $0["call"] as? String } == ["NewEndpoint", "Message", "Unregistered"])
        #expect(lines.allSatisfy { $0["version"] as? Int == version.rawValue })
        #expect(
            lines[0]["endpoint"] as? String == "https://push.example/up/1" && lines[0]["token"] as? String == "secret")
        #expect(lines[1]["id"] as? String == "m-1")
        #expect(lines[1]["message"] as? String == bytes.map { String(format: "%02x", $0) }.joined())
        // Version 1 sends no token for a confirmation.
        #expect(lines[2]["token"] as? String == (version == .one ? "" : "secret"))
        app.stop(SIGKILL)
        scene.distributor.shutdown()
    }

    @Test(arguments: [DistributorVersion.one, .two])
    func `B7: A refusal contains a reason in the form that the app's version expects`(version: DistributorVersion)
        async throws
    {
        let scene = try await DistributorScene(app: Self.app, version: version)
        let app = try scene.run("--register", "secret", "--stay", "60")
        let (call, _) = try await scene.registration()
        scene.distributor.perform(.answer(call: call, .failed(.actionRequired, "Enrol it.")))
        let answer = try await scene.line { $0["call"] as? String == "answer" }
        #expect(answer["success"] as? String == "REGISTRATION_FAILED")
        #expect(answer["reason"] as? String == (version == .one ? "Enrol it." : "ACTION_REQUIRED"))
        app.stop(SIGKILL)
        let other = try scene.run("--unregister", "secret", "--stay", "60")
        let event = try await scene.event { if case .unregister = $0 { true } else { false } }
        guard case .unregister(let call, "secret") = event else { return #expect(Bool(false), "\(event)") }
        scene.distributor.perform(.answer(call: call, .unregistered))
        _ = try await scene.line(number: 2) { $0["call"] as? String == "answer" }
        other.stop(SIGKILL)
        scene.distributor.shutdown()
    }

    @Test func `B7: The bus starts an app for a message if the app does not run`() async throws {
        let scene = try await DistributorScene(app: Self.app, version: .two, isActivatable: true)
        scene.call(1, .message([1, 2], id: "a"))
        #expect(try await scene.outcome(1) == .returned)
        #expect(try scene.lines().contains { $0["message"] as? String == "0102" })
        scene.distributor.shutdown()
    }

    @Test func `B7: The distributor distinguishes a missing app from one that refuses, and reports a start`()
        async throws
    {
        let scene = try await DistributorScene(app: Self.app, version: .two)
        scene.distributor.perform(.watch([Self.app]))
        scene.call(1, .message([1], id: "a"))
        guard case .absent = try await scene.outcome(1) else { return #expect(Bool(false), "nobody is there") }
        let app = try scene.run("--stay", "60", "--refuse")
        _ = try await scene.event { $0 == .appeared(service: Self.app) }
        scene.call(2, .message([1], id: "a"))
        guard case .refused(let why) = try await scene.outcome(2) else { return #expect(Bool(false), "it refuses") }
        #expect(why.contains("No"))
        app.stop(SIGKILL)
        scene.distributor.shutdown()
    }

    @Test func `B7: An app that is killed during a message has not accepted the message`() async throws {
        let scene = try await DistributorScene(app: Self.app, version: .one)
        let app = try scene.run("--stay", "60")
        _ = try await scene.line { $0["call"] as? String == "started" }
        app.kill(SIGSTOP)
        scene.call(1, .message([1], id: "a"))
        app.stop(SIGKILL)
        guard case .absent = try await scene.outcome(1) else { return #expect(Bool(false), "it was killed") }
        scene.distributor.shutdown()
    }

    @Test func `B7: The distributor answers introspection with its interfaces, and refuses invalid calls`() async throws
    {
        let scene = try await DistributorScene(app: Self.app, version: .two)
        let name = "org.unifiedpush.Distributor.nightshift"
        let path = "/org/unifiedpush/Distributor"
        let described = try await scene.bus.call(name, path, "org.freedesktop.DBus.Introspectable", "Introspect")
        #expect(
            described.contains("org.unifiedpush.Distributor1") && described.contains("org.unifiedpush.Distributor2"))
        for (path, interface, method, arguments) in [
            ("/", "org.unifiedpush.Distributor2", "Register", ["a{sv}", "0"]),
            (path, "org.unifiedpush.Distributor3", "Register", ["a{sv}", "0"]),
            (path, "org.unifiedpush.Distributor2", "Nothing", []),
            (path, "org.unifiedpush.Distributor2", "Register", ["a{sv}", "0"]),
            (path, "org.unifiedpush.Distributor2", "Register", ["a{sv}", "1", "service", "u", "1"]),
            (path, "org.unifiedpush.Distributor2", "Register", ["s", "x"]),
            (path, "org.unifiedpush.Distributor1", "Register", ["ss", "x", "y"]),
        ] {
            await #expect(throws: CannotRun.self, "\(interface).\(method) \(arguments)") {
                try await scene.bus.call(name, path, interface, method, arguments)
            }
        }
        scene.distributor.shutdown()
    }

    @Test func `B7: The distributor reconnects a lost bus and requests its name again`() async throws {
        let scene = try await DistributorScene(app: Self.app, version: .two)
        scene.bus.stop()
        _ = try await scene.event { $0 == .disconnected }
        scene.call(1, .endpoint("x"))
        guard case .absent = try await scene.outcome(1) else { return #expect(Bool(false), "there is no bus") }
        try await scene.bus.start()
        _ = try await scene.event(number: 2) { $0 == .named(isOurs: true) }
        scene.distributor.shutdown()
    }

    @Test func `B7: A second distributor of the same user gets the name when the first one ends`() async throws {
        let scene = try await DistributorScene(app: Self.app, version: .two)
        let second = UnifiedPushDistributor(environment: ["DBUS_SESSION_BUS_ADDRESS": scene.bus.address])
        let heard = Watched<[DistributorEvent]>([])
        second.start()
        let listening = Task { for await event in second.events { heard.update { $0.append(event) } } }
        try await heard.wait(for: "the queue") { $0.contains(.named(isOurs: false)) }
        scene.distributor.shutdown()
        try await heard.wait(for: "the name") { $0.contains(.named(isOurs: true)) }
        second.shutdown()
        await listening.value
    }
}

/// A distributor on a private bus, and an app.
private final class DistributorScene: Sendable {
    let bus: PrivateBus
    let distributor: UnifiedPushDistributor
    private let heard = Watched<[DistributorEvent]>([])
    private let directory: TemporaryDirectory
    private let app: String
    private let version: DistributorVersion

    init(app: String, version: DistributorVersion, isActivatable: Bool = false) async throws {
        self.app = app
        self.version = version
        let directory = try TemporaryDirectory()
        self.directory = directory
        let command =
            (["/usr/bin/python3", Self.script, app, directory.path("log"), "--version", "\(version.rawValue)"])
        bus = try PrivateBus(commands: isActivatable ? [app: command.joined(separator: " ")] : [:])
        try await bus.start()
        let distributor = UnifiedPushDistributor(environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address])
        self.distributor = distributor
        distributor.start()
        let heard = heard
        Task { for await event in distributor.events { heard.update { $0.append(event) } } }
        try await heard.wait(for: "the name on the bus") { $0.contains(.named(isOurs: true)) }
    }

    private static let script = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Gateway/Tests/Clients/unifiedpush_app.py").standardizedFileURL.path

    func run(_ words: String...) throws -> ChildProcess {
        var environment = ProcessInfo.processInfo.environment
        environment["DBUS_SESSION_BUS_ADDRESS"] = bus.address
        return try ChildProcess(
            "/usr/bin/python3",
            arguments: [Self.script, app, directory.path("log"), "--version", "\(version.rawValue)"] + words,
            environment: environment, errors: .inherit)
    }

    func call(_ number: UInt64, _ content: ConnectorCall.Content) {
        distributor.perform(
            .call(number: number, ConnectorCall(service: app, version: version, token: "secret", content: content)))
    }

    func event(
        number: Int = 1, _ isWanted: @escaping @Sendable (DistributorEvent) -> Bool
    ) async throws -> DistributorEvent {
        try await heard.wait(for: "an event") { $0.filter(isWanted).count >= number }
        return heard.read { $0.filter(isWanted)[number - 1] }
    }

    func registration() async throws -> (call: UInt64, DistributorRegistration) {
        let event = try await event { if case .register = $0 { true } else { false } }
        let call: (UInt64, DistributorRegistration)? =
            if case .register(let call, let wanted) = event { (call, wanted) } else { nil }
        return try #require(call)
    }

    func outcome(_ number: UInt64) async throws -> ConnectorOutcome {
        let event = try await event { if case .called(number, _) = $0 { true } else { false } }
        let outcome: ConnectorOutcome? = if case .called(_, let outcome) = event { outcome } else { nil }
        return try #require(outcome)
    }

    /// Returns the lines that the app has logged.
    func lines() throws -> [[String: Any]] {
        guard let text = try? String(contentsOfFile: directory.path("log"), encoding: .utf8) else { return [] }
        return try text.split(separator: "\n").compactMap {
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
    }

    func line(number: Int = 1, _ isWanted: ([String: Any]) -> Bool) async throws -> [String: Any] {
        var found: [[String: Any]] = []
        try await eventually("a line of the app") {
            found = try lines().filter(isWanted)
            return found.count >= number
        }
        return found[number - 1]
    }
}
