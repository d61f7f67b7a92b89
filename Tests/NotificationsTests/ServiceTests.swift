import Foundation
import Glibc
import NightshiftAPI
import Notifications
import SimulationSupport
import Store
import TestSupport
import Testing

/// Tests of notifications over a real bus, with dbusmock's notification daemon (R3).
@Suite(.timeLimit(.minutes(20))) struct ServiceTests {
    private static let capable = #"{"capabilities": "body body-markup actions"}"#

    @Test func `R3: A feature of the service can show a notification with escaped texts and actions`() async throws {
        let bus = try await PrivateBus.started()
        let mock = try await MockService(.notifications, on: bus, parameters: Self.capable)
        let scene = try await ServiceScene(on: bus)
        try await scene.service.setPermission(.allowed, of: ServiceScene.app)
        try await scene.waitForServer()
        var notification = ServiceScene.notification("a", title: "One & two")
        notification.body = "<b>bold</b>"
        notification.sound = "default"
        notification.level = .timeSensitive
        notification.actions = [AppNotification.Action(identifier: "x", title: "Reply", isForeground: false)]
        try await scene.store.write { [notification] in
            try $0.putNotification(notification, for: ServiceScene.app, due: Date().timeIntervalSince1970 - 1)
        }
        await scene.service.wake()
        try await scene.waitForShown(["a"])
        let calls = try await mock.calls(of: "Notify")
        for part in [
            #""App of org.example.app""#, #"u 0"#, #""app-icon""#, #""One & two""#,
            #""&lt;b&gt;bold&lt;/b&gt;""#, #""default" "Open" "action-0" "Reply""#,
            #""desktop-entry" s "org.example.app""#, #""urgency" y 2"#, #""sound-name" s "message-new-instant""#,
            "i -1",
        ] {
            // D-Bus containers begin with the type of their contents.
            #expect(calls.contains(part), "\(part) in \(calls)")
        }
        let rows = try await scene.store.read { try $0.notifications(of: ServiceScene.app) }
        #expect(rows.map(\.state) == [.shown] && rows.first?.place?.number == 1)
        await scene.end()
    }

    private enum Asking: CaseIterable {
        case deny, remove, badge, add

        func ask(_ service: NotificationService) async throws(Problem) {
            let app = ServiceScene.app
            switch self {
            case .deny: try await service.setPermission(.denied, of: app)
            case .remove: try await service.remove(nil, of: app)
            case .badge: try await service.setBadge(3, for: app)
            case .add:
                try await service.add(NotificationRequest(notification: ServiceScene.notification("b")), for: app)
            }
        }
    }

    @Test func `R3: The service refuses a request that it cannot write, without any change`() async throws {
        let bus = try await PrivateBus.started()
        let mock = try await MockService(.notifications, on: bus, parameters: Self.capable)
        let scene = try await ServiceScene(on: bus)
        let (service, app) = (scene.service, ServiceScene.app)
        try await service.setPermission(.allowed, of: app)
        try await scene.waitForServer()
        try await service.add(NotificationRequest(notification: ServiceScene.notification("a")), for: app)
        try await scene.waitForShown(["a"])
        let before = await service.processNotifications(of: app)
        #expect(before.delivered.map(\.identifier) == ["a"])
        // From here on, every write fails.
        let gate = CommitGate()
        scene.store.add(transactionObserver: gate)
        gate.shut()
        for asking in Asking.allCases {
            let problem = await #expect(throws: Problem.self) { try await asking.ask(service) }
            #expect(problem?.status == 503)
        }
        let after = await service.processNotifications(of: app)
        // A date that is read from its row has only milliseconds.
        #expect(after.permission == before.permission && after.canShow == before.canShow, "\(after)")
        #expect(after.delivered.map(\.identifier) == ["a"] && after.pending.isEmpty, "\(after)")
        #expect(await service.permission(of: app) == .allowed)
        #expect(scene.shown.read { $0 } == ["a"])
        // The notification is still on the screen.
        #expect(try await mock.calls(of: "CloseNotification") == mock.calls(of: "NothingOfTheKind"))
        await scene.end()
    }

    @Test func `R3: The service reads unreadable rows again once the disk works, without another signal`()
        async throws
    {
        let bus = try await PrivateBus.started()
        let clock = ManualClock(ClockReading(bootID: "boot", bootSeconds: 100, wallSeconds: 1_800_000_000))
        let scene = try await ServiceScene(on: bus, clock: clock)
        let (service, app) = (scene.service, ServiceScene.app)
        try await service.setPermission(.allowed, of: app)
        try await service.add(
            NotificationRequest(notification: ServiceScene.notification("a"), delay: 100), for: app)
        try await scene.store.write {
            try $0.putNotification(ServiceScene.notification("b"), for: ServiceScene.app, due: 2_000_000_000)
        }
        let gate = CommitGate()
        scene.store.add(transactionObserver: gate)
        gate.shut()
        clock.advance(to: 200)
        try await eventually("a refusal") { gate.hasFailed }
        // The rows lack changes that could not be written, so the service does not read them.
        await service.wake()
        #expect(await service.processNotifications(of: app).pending.count == 1)
        gate.open()
        clock.advance(to: 300)
        try await eventually("both") { await service.processNotifications(of: app).pending.count == 2 }
        await scene.end()
    }

    @Test func `R3: A request of an app does not override a user's setting that is being written`()
        async throws
    {
        let bus = try await PrivateBus.started()
        let scene = try await ServiceScene(on: bus)
        let (service, app) = (scene.service, ServiceScene.app)
        let hold = try await StoreHold(scene.store)
        let saying = Task { try await service.setPermission(.denied, of: app) }
        // The first call begins with the state. If the app's call comes first, the user's setting still comes last.
        await Task.yield()
        let asking = Task { try await service.requestAuthorization(isProvisional: true, for: app) }
        await Task.yield()
        hold.release()
        try await saying.value
        _ = try await asking.value
        #expect(await service.permission(of: app) == .denied)
        await scene.end()
    }

    @Test func `R3: Only the notification server's response wakes an app and brings the app to the front`()
        async throws
    {
        let bus = try await PrivateBus.started()
        let mock = try await MockService(.notifications, on: bus, parameters: Self.capable)
        let scene = try await ServiceScene(on: bus)
        try await scene.service.setPermission(.allowed, of: ServiceScene.app)
        try await scene.waitForServer()
        var notification = ServiceScene.notification("a")
        notification.actions = [AppNotification.Action(identifier: "reply", title: "Reply", isForeground: false)]
        for identifier in ["a", "b"] {
            notification.identifier = identifier
            try await scene.service.add(NotificationRequest(notification: notification), for: ServiceScene.app)
        }
        try await scene.waitForShown(["a", "b"])
        // This signal comes from a process that is not the notification server.
        _ = try await ChildProcess.run(
            "busctl",
            [
                "--address=\(bus.address)", "emit", "/org/freedesktop/Notifications", "org.freedesktop.Notifications",
                "ActionInvoked", "us", "1", "default",
            ])
        try await mock.emit("ActionInvoked", "u 99", "s default")
        try await mock.emit("ActionInvoked", "u 2", "s action-0")
        try await eventually("the wake") { try await scene.wakes().count == 1 }
        var wake = try #require(try await scene.wakes().first)
        var response = try JSON.decode(NotificationResponse.self, from: try #require(wake.payload))
        #expect(wake.source == .response && wake.key == "b" && response.action == "reply")
        #expect(scene.activated.read { $0 }.isEmpty, "an action without foreground")
        try await mock.emit("ActionInvoked", "u 1", "s default")
        try await scene.activated.wait(for: "the app in front") { $0 == [ServiceScene.app] }
        wake = try #require(try await scene.wakes().last)
        response = try JSON.decode(NotificationResponse.self, from: try #require(wake.payload))
        #expect(response.action == NotificationResponse.opened && response.notification.identifier == "a")
        #expect(await scene.service.processNotifications(of: ServiceScene.app).delivered.isEmpty)
        await scene.end()
    }

    @Test func `R3: A notification without a bus or a server is kept, and shown once a server appears`() async throws {
        let bus = try PrivateBus()
        let scene = try await ServiceScene(on: bus)
        try await scene.service.setPermission(.allowed, of: ServiceScene.app)
        try await scene.service.add(
            NotificationRequest(notification: ServiceScene.notification("a")), for: ServiceScene.app)
        #expect(!(await scene.service.processNotifications(of: ServiceScene.app).canShow))
        try await bus.start()
        var mock = try await MockService(.notifications, on: bus)
        try await scene.waitForShown(["a"])
        mock.stop()
        try await eventually("the server's end") {
            !(await scene.service.processNotifications(of: ServiceScene.app).canShow)
        }
        try await scene.service.add(
            NotificationRequest(notification: ServiceScene.notification("b")), for: ServiceScene.app)
        mock = try await MockService(.notifications, on: bus)
        try await scene.waitForShown(["a", "b"])
        bus.stop()
        try await eventually("the bus's end") {
            !(await scene.service.processNotifications(of: ServiceScene.app).canShow)
        }
        mock.stop()
        try await scene.service.add(
            NotificationRequest(notification: ServiceScene.notification("c")), for: ServiceScene.app)
        try await bus.start()
        mock = try await MockService(.notifications, on: bus)
        try await scene.waitForShown(["a", "b", "c"])
        let calls = try await mock.calls(of: "Notify")
        #expect(calls.components(separatedBy: "App of").count == 2, "once: \(calls)")
        await scene.end()
    }

    @Test func `R3: A restarted service replaces the notifications that its server still shows`() async throws {
        let bus = try await PrivateBus.started()
        let mock = try await MockService(.notifications, on: bus, parameters: Self.capable)
        let first = try await ServiceScene(on: bus)
        try await first.service.setPermission(.allowed, of: ServiceScene.app)
        try await first.waitForServer()
        for identifier in ["a", "b"] {
            try await first.service.add(
                NotificationRequest(notification: ServiceScene.notification(identifier)), for: ServiceScene.app)
        }
        try await first.waitForShown(["a", "b"])
        await first.end()
        let second = try await ServiceScene(on: bus, store: first.store)
        try await second.waitForServer()
        try await second.service.add(
            NotificationRequest(notification: ServiceScene.notification("b", title: "New")), for: ServiceScene.app)
        try await second.waitForShown(["b"])
        let places = try await second.store.read { try $0.notifications(of: ServiceScene.app) }.map(\.place?.number)
        #expect(places == [1, 2])
        try await second.service.remove(["b"], of: ServiceScene.app)
        try await eventually("its end on the screen") {
            try await mock.calls(of: "CloseNotification").contains("2")
        }
        try await mock.emit("ActionInvoked", "u 1", "s default")
        try await second.activated.wait(for: "the app in front") { $0 == [ServiceScene.app] }
        await second.end()
    }

    @Test func `R3: One question to the user serves several callers, and the answer is kept`() async throws {
        let bus = try await PrivateBus.started()
        let scene = try await ServiceScene(on: bus)
        async let one = scene.service.requestAuthorization(isProvisional: false, for: ServiceScene.app)
        async let other = scene.service.requestAuthorization(isProvisional: false, for: ServiceScene.app)
        // Until now no server could show the question.
        let mock = try await MockService(.notifications, on: bus, parameters: Self.capable)
        try await eventually("the question") {
            try await mock.calls(of: "Notify").contains(#""choice-0" "Allow" "choice-1""#)
        }
        try await mock.emit("ActionInvoked", "u 1", "s choice-0")
        let answers = try await [one, other]
        #expect(answers == [true, true])
        #expect(await scene.service.permission(of: ServiceScene.app) == .allowed)
        #expect(try await mock.calls(of: "Notify").components(separatedBy: "choice-0").count == 2, "once")
        await scene.end()
        let next = try await ServiceScene(on: bus, store: scene.store)
        #expect(try await next.service.requestAuthorization(isProvisional: false, for: ServiceScene.app))
        try await next.service.setPermission(.denied, of: ServiceScene.app)
        #expect(!(try await next.service.requestAuthorization(isProvisional: true, for: ServiceScene.app)))
        await next.end()
    }

    @Test(arguments: [true, false])
    func `R3: The first alert asks for permission, and the permission shows the waiting alerts`(
        isAllowed: Bool
    ) async throws {
        let bus = try await PrivateBus.started()
        let mock = try await MockService(.notifications, on: bus, parameters: Self.capable)
        let scene = try await ServiceScene(on: bus)
        for identifier in ["a", "b"] {
            var alert = ServiceScene.notification(identifier)
            alert.isRemote = true
            try await scene.store.write { [alert] in
                try $0.putNotification(alert, for: ServiceScene.app, due: Date().timeIntervalSince1970 - 1)
            }
            await scene.service.wake()
        }
        try await eventually("the question") {
            try await mock.calls(of: "Notify").contains(#""choice-0" "Allow" "choice-1""#)
        }
        try await scene.states.wait(for: "both waiting") { $0 == [.permission, .permission] }
        #expect(try await scene.store.read { try $0.notifications(of: ServiceScene.app) }.count == 2)
        try await mock.emit("ActionInvoked", "u 1", "s choice-\(isAllowed ? 0 : 1)")
        if isAllowed {
            try await scene.waitForShown(["a", "b"])
        } else {
            try await scene.states.wait(for: "both denied") { $0.suffix(2) == [.denied, .denied] }
            #expect(try await scene.store.read { try $0.notifications(of: ServiceScene.app) }.isEmpty)
        }
        #expect(await scene.service.permission(of: ServiceScene.app) == (isAllowed ? .allowed : .denied))
        #expect(try await mock.calls(of: "Notify").components(separatedBy: "choice-0").count == 2, "asked once")
        await scene.end()
    }

    @Test func `R3: A stopping service closes its questions`() async throws {
        let bus = try await PrivateBus.started()
        let mock = try await MockService(.notifications, on: bus, parameters: Self.capable)
        let scene = try await ServiceScene(on: bus)
        async let answer = scene.service.ask(
            app: ServiceScene.app, purpose: "p", title: "May it?", body: "",
            choices: [NotificationQuestion.Choice(key: "yes", title: "Yes")])
        try await eventually("the question") { try await mock.calls(of: "Notify").contains("May it?") }
        // The service must know the notification's number before it can close the notification. Answers arrive in the
        // order of the calls.
        try await scene.service.setPermission(.allowed, of: ServiceScene.app)
        try await scene.service.add(
            NotificationRequest(notification: ServiceScene.notification("a")), for: ServiceScene.app)
        try await scene.waitForShown(["a"])
        await scene.end()
        #expect(await answer == nil)
        try await eventually("its end on the screen") {
            try await mock.calls(of: "CloseNotification").contains("1")
        }
    }

    @Test func `R3: Every dock gets the badge, including a dock that appears later`() async throws {
        let bus = try await PrivateBus.started()
        let scene = try await ServiceScene(on: bus)
        try await scene.service.setPermission(.allowed, of: ServiceScene.app)
        let folder = try TemporaryDirectory()
        let monitor = try ChildProcess(
            "dbus-monitor",
            arguments: ["--address", bus.address, "type='signal',interface='com.canonical.Unity.LauncherEntry'"],
            output: .file(folder.path("signals")), errors: .inherit)
        defer { monitor.stop(SIGKILL) }
        func signals() throws -> String { String(decoding: try fileBytes(folder.path("signals")), as: UTF8.self) }
        var count = 0
        try await eventually("the badge on the bus") {
            // The monitor does not report when it has begun to listen.
            count += 1
            try await scene.service.setBadge(count, for: ServiceScene.app)
            let text = (try? signals()) ?? ""
            return text.contains("application://org.example.app.desktop") && text.contains("int64")
        }
        try await scene.service.setBadge(77_777, for: ServiceScene.app)
        try await eventually("the last badge") { try signals().contains("int64 77777") }
        let dock = try await MockService(.dock, on: bus)
        defer { dock.stop() }
        try await eventually("the same badge, for a dock that has not heard of it") {
            try signals().ranges(of: "int64 77777").count == 2
        }
        await scene.end()
    }

    @Test func `R3: A response fits into the row of a wake, whatever the provider has sent`() async throws {
        let bus = try await PrivateBus.started()
        let mock = try await MockService(.notifications, on: bus, parameters: Self.capable)
        let scene = try await ServiceScene(on: bus)
        try await scene.service.setPermission(.allowed, of: ServiceScene.app)
        try await scene.waitForServer()
        var notification = ServiceScene.notification("a")
        let quotes = String(repeating: "\"", count: Limits.notificationText)
        (notification.title, notification.subtitle, notification.body) = (quotes, quotes, quotes)
        notification.userInfo = #"{"k":"\#(String(repeating: #"\""#, count: 2_000))"}"#
        notification.actions = ["x", "y"].map { AppNotification.Action(identifier: $0, title: $0, isForeground: true) }
        try await scene.service.add(NotificationRequest(notification: notification), for: ServiceScene.app)
        try await scene.waitForShown(["a"])
        try await mock.emit("ActionInvoked", "u 1", "s action-1")
        try await eventually("the wake") { try await scene.wakes().count == 1 }
        let payload = try #require(try await scene.wakes().first?.payload)
        let response = try JSON.decode(NotificationResponse.self, from: payload)
        #expect(payload.count <= 32_768 && response.notification.userInfo == notification.userInfo)
        #expect(response.notification.body.count == 64 && response.action == "y")
        #expect(
            response.notification.actions.map(\.identifier) == ["y"],
            "the action that says whether the app enters the foreground")
        await scene.end()
    }
}
