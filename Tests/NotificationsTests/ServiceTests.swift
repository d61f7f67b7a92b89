import Foundation
import Glibc
import NightshiftAPI
import Notifications
import SimulationSupport
import Store
import TestSupport
import Testing

/// R3: Notifications over a real bus, at dbusmock's notification daemon.
@Suite(.timeLimit(.minutes(20))) struct ServiceTests {
    private static let capable = #"{"capabilities": "body body-markup actions"}"#

    @Test func `R3: A notification that was put by others is shown, escaped and with its actions`() async throws {
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
            try $0.putNotification(notification, for: ServiceScene.app, due: nil)
        }
        await scene.service.wake()
        try await scene.store.write {
            _ = try $0.releaseNotification("a", of: ServiceScene.app, at: Date().timeIntervalSince1970 - 1)
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
            // Containers say what they contain before it.
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

    @Test func `R3: What is asked for and cannot be written down is refused, and nothing has changed`() async throws {
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
        // Nothing can be written any more.
        let gate = CommitGate()
        scene.store.add(transactionObserver: gate)
        gate.shut()
        for asking in Asking.allCases {
            let problem = await #expect(throws: Problem.self) { try await asking.ask(service) }
            #expect(problem?.status == 503)
        }
        let after = await service.processNotifications(of: app)
        // Read from its row, a date has milliseconds.
        #expect(after.permission == before.permission && after.canShow == before.canShow, "\(after)")
        #expect(after.delivered.map(\.identifier) == ["a"] && after.pending.isEmpty, "\(after)")
        #expect(await service.permission(of: app) == .allowed)
        #expect(scene.shown.read { $0 } == ["a"])
        // It is still on the screen.
        #expect(try await mock.calls(of: "CloseNotification") == mock.calls(of: "NothingOfTheKind"))
        await scene.end()
    }

    @Test func `R3: Rows that could not be taken up are taken up when the disk is well, though nobody says so anew`()
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
        // What could not be written is in no row, so the rows are not read.
        await service.wake()
        #expect(await service.processNotifications(of: app).pending.count == 1)
        gate.open()
        clock.advance(to: 300)
        try await eventually("both") { await service.processNotifications(of: app).pending.count == 2 }
        await scene.end()
    }

    @Test func `R3: What an app asks for does not take the place of its user's word, which is being written`()
        async throws
    {
        let bus = try await PrivateBus.started()
        let scene = try await ServiceScene(on: bus)
        let (service, app) = (scene.service, ServiceScene.app)
        let hold = try await StoreHold(scene.store)
        let saying = Task { try await service.setPermission(.denied, of: app) }
        // The book is the first one's as soon as he has begun; where the app comes first, its user's word is the last.
        await Task.yield()
        let asking = Task { try await service.requestAuthorization(isProvisional: true, for: app) }
        await Task.yield()
        hold.release()
        try await saying.value
        _ = try await asking.value
        #expect(await service.permission(of: app) == .denied)
        await scene.end()
    }

    @Test func `R3: A choice wakes the app with what was chosen and brings it to the front; only its server's counts`()
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
        // Somebody else, who is no notification server.
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

    @Test func `R3: What comes without a bus or a server is kept and shown once when one comes`() async throws {
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

    @Test func `R3: A service that starts again knows what its server shows, and replaces it there`() async throws {
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

    @Test func `R3: Its user is asked once, for all who ask, and the answer stays`() async throws {
        let bus = try await PrivateBus.started()
        let scene = try await ServiceScene(on: bus)
        async let one = scene.service.requestAuthorization(isProvisional: false, for: ServiceScene.app)
        async let other = scene.service.requestAuthorization(isProvisional: false, for: ServiceScene.app)
        // Nobody is there to ask him until now.
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
    func `R3: The first alert before permission asks for it, and what waits is shown when the user allows it`(
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

    @Test func `R3: A service that stops asks nobody any more`() async throws {
        let bus = try await PrivateBus.started()
        let mock = try await MockService(.notifications, on: bus, parameters: Self.capable)
        let scene = try await ServiceScene(on: bus)
        async let answer = scene.service.ask(
            app: ServiceScene.app, purpose: "p", title: "May it?", body: "",
            choices: [NotificationQuestion.Choice(key: "yes", title: "Yes")])
        try await eventually("the question") { try await mock.calls(of: "Notify").contains("May it?") }
        // Its number has to be known before it can be taken away: answers come in the order of what was asked.
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

    @Test func `R3: A badge is told to docks, and again when one comes`() async throws {
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
            // The monitor does not say when it has begun to listen.
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

    @Test func `R3: What its user has chosen fits into the row of a wake, whatever the provider has sent`() async throws
    {
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
        #expect(response.notification.actions.map(\.identifier) == ["y"], "what says whether it comes to the front")
        await scene.end()
    }
}
