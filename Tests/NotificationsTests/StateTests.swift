import Device
import Foundation
import NightshiftAPI
import Notifications
import Store
import Testing

/// Tests of the handling of notifications (R3).
@Suite struct StateTests {
    private typealias Scene = StateScene

    @Test(arguments: [
        (NotificationPermission.ask, false), (.denied, false), (.allowed, true), (.provisional, true),
    ])
    func `R3: The service neither shows nor keeps a notification that the user has not allowed`(
        permission: NotificationPermission, isShown: Bool
    ) {
        var scene = Scene(permission: permission)
        var notification = Scene.notification("a")
        notification.sound = "default"
        scene.put(notification, due: scene.now)
        #expect(scene.screen.count == (isShown ? 1 : 0))
        #expect(scene.rows.map(\.state) == (isShown ? [.shown] : []))
        guard isShown else { return }
        let draft = scene.screen[1]
        #expect(draft?.sound == (permission == .allowed ? "message-new-instant" : nil))
        #expect(draft?.urgency == (permission == .allowed ? .normal : .low))
        #expect(scene.entries.map(\.decision) == [.notificationShown] && scene.entries[0].detail == "a")
    }

    @Test func `R3: A blocked notification is shown once it is unblocked, with texts safe for the server`() {
        var scene = Scene()
        var notification = Scene.notification("a", title: "A\u{7}<b>\n1")
        notification.subtitle = "Sub & more"
        notification.body = "x\r\ny\u{0}\u{1b}<i>"
        notification.category = "mail"
        notification.isRemote = true
        notification.level = .critical
        notification.actions = [AppNotification.Action(identifier: "default", title: "Re\nply", isForeground: false)]
        scene.put(notification, due: nil)
        #expect(scene.screen.isEmpty && scene.book.nextDeadline == nil)
        #expect(scene.book.notifications(of: Scene.app).pending.isEmpty, "not the app's own")
        scene.rows[0].due = scene.now
        scene.load()
        let draft = scene.screen[1]
        #expect(draft?.title == "A<b> 1" && draft?.body == "Sub &amp; more\nx\ny&lt;i&gt;")
        #expect(draft?.appName == "App" && draft?.entry == "org.example.app" && draft?.icon == "app-icon")
        #expect(draft?.actions.map(\.key) == ["default", "action-0"])
        #expect(draft?.actions.map(\.title) == ["Open", "Re ply"])
        #expect(draft?.category == "x-nightshift.mail" && draft?.urgency == .critical && draft?.sound == nil)
        scene.serve(NotificationServer(identity: "bus/:1.9", capabilities: []))
        scene.put(notification, due: scene.now)
        let plain = scene.screen.values.first
        #expect(plain?.body == "Sub & more\nx\ny<i>" && plain?.actions == [], "without markup and actions")
    }

    /// The values of UNNotificationPresentationOptions are badge 1, sound 2, alert 4, list 8 and banner 16.
    @Test(arguments: [
        (PresentationAnswer.notInFront, true, true, true, 7), (.asSent, true, true, true, 7),
        (.options(0), false, false, false, 0), (.options(1), false, false, false, 7),
        (.options(2), false, false, false, 0), (.options(4), true, false, true, 0),
        (.options(6), true, true, true, 0), (.options(8), false, false, true, 0),
        (.options(16), true, false, true, 0), (.options(19), true, true, true, 7),
    ])
    func `R3: An app in the foreground decides which notifications are shown`(
        answer: PresentationAnswer, pops: Bool, sounds: Bool, isListed: Bool, badge: Int
    ) {
        var scene = Scene()
        scene.answer = answer
        var notification = Scene.notification("a")
        (notification.sound, notification.badge) = ("ping.caf", 7)
        scene.put(notification, due: scene.now)
        #expect(scene.screen.count == (pops ? 1 : 0))
        if pops { #expect(scene.screen[1]?.sound == (sounds ? "ping" : nil)) }
        #expect(scene.book.notifications(of: Scene.app).delivered.count == (isListed ? 1 : 0))
        #expect(scene.rows.allSatisfy { $0.state == .shown })
        #expect(scene.records[Scene.app]?.badge == badge)
    }

    @Test func `R3: A notification replaces an earlier notification with the same identifier`() {
        var scene = Scene()
        scene.answer = nil
        for (identifier, title) in [("a", "1"), ("b", "2")] {
            var notification = Scene.notification(identifier, title: title)
            notification.thread = "t"
            scene.put(notification, due: scene.now)
        }
        var asked: [String] = []
        for _ in 0..<3 {
            guard case .present(let token, _, let notification)? = scene.effects.last else { break }
            asked.append(notification.title)
            if asked.count == 2 { scene.put(Scene.notification("a", title: "3"), due: scene.now) }
            scene.step { $0.presented(token, .asSent, now: $1) }
        }
        #expect(asked == ["1", "2", "3"])
        #expect(scene.screen[1]?.title == "3" && scene.screen[2]?.title == "2" && scene.screen.count == 2)
        #expect(scene.rows.map(\.notification.title) == ["2", "3"])
    }

    @Test(arguments: [
        ("default", NotificationResponse.opened, true), ("action-0", "reply", false), ("action-1", "show", true),
        ("action-2", nil, false), ("reply", nil, false), ("", nil, false),
    ])
    func `R3: A response wakes the app, and a foreground action brings the app to the front`(
        key: String, action: String?, isForeground: Bool
    ) throws {
        var scene = Scene()
        try scene.step { (book, _) throws(Problem) in
            try book.set(Self.categories(tellsOfDismissal: false), for: Scene.app)
        }
        var notification = Scene.notification("a")
        notification.category = "mail"
        scene.put(notification, due: scene.now)
        scene.restart()
        scene.choose(1, key)
        #expect(scene.responses.map(\.action) == (action.map { [$0] } ?? []))
        #expect(scene.effects.contains(.activate(Scene.app)) == isForeground)
        #expect(scene.rows.isEmpty == (action != nil))
        scene.choose(1, key)
        #expect(scene.responses.count <= 1, "once")
        if action != nil { #expect(scene.responses[0].notification.identifier == "a") }
    }

    @Test(arguments: [
        (DesktopEvent.CloseReason.dismissed, true, 1, 0), (.dismissed, false, 0, 0), (.expired, true, 0, 1),
        (.other, true, 0, 1),
    ])
    func `R3: A dismissal is sent to the app only if the category asks for it`(
        reason: DesktopEvent.CloseReason, tells: Bool, told: Int, listed: Int
    ) throws {
        var scene = Scene()
        try scene.step { (book, _) throws(Problem) in
            try book.set(Self.categories(tellsOfDismissal: tells), for: Scene.app)
        }
        var notification = Scene.notification("a")
        notification.category = "mail"
        scene.put(notification, due: scene.now)
        scene.close(1, reason)
        #expect(scene.responses.map(\.action) == Array(repeating: NotificationResponse.dismissed, count: told))
        #expect(scene.book.notifications(of: Scene.app).delivered.count == listed)
        scene.choose(1, "default")
        #expect(scene.responses.count == told, "its number is no longer valid")
        #expect(!scene.effects.contains(.activate(Scene.app)))
    }

    private static func categories(tellsOfDismissal: Bool) -> NotificationCategories {
        NotificationCategories(categories: [
            NotificationCategories.Category(
                identifier: "mail",
                actions: [
                    AppNotification.Action(identifier: "reply", title: "Reply", isForeground: false),
                    AppNotification.Action(identifier: "show", title: "Show", isForeground: true),
                ], tellsOfDismissal: tellsOfDismissal)
        ])
    }

    @Test func `R3: Only the server that shows a notification can report a response to it`() {
        var scene = Scene(server: nil)
        scene.put(Scene.notification("a"), due: scene.now)
        #expect(scene.rows.map(\.state) == [.due] && scene.effects.contains(.startServer))
        // The clock is set back, but the notification stays due.
        scene.now -= 86_400
        scene.restart()
        scene.serve(Scene.all)
        #expect(scene.screen.count == 1 && scene.rows.map(\.state) == [.shown])
        scene.serve(NotificationServer(identity: "bus/:1.8", capabilities: ["actions"]))
        #expect(scene.screen.isEmpty, "not twice")
        scene.choose(1, "default")
        #expect(scene.responses.isEmpty && scene.book.notifications(of: Scene.app).delivered.count == 1)
        scene.put(Scene.notification("a", title: "New"), due: scene.now)
        #expect(scene.screen.values.map(\.replaces) == [0] && scene.rows.count == 1)
    }

    @Test func `R3: The next server shows a notification again if its server disappears`() {
        for isGone in [true, false] {
            var scene = Scene()
            scene.answer = nil
            scene.put(Scene.notification("a"), due: scene.now)
            guard case .present(let token, _, _)? = scene.effects.last else {
                Issue.record("not presented")
                return
            }
            // The test gives this answer, because the scene's server would answer.
            scene.book.presented(token, .asSent, now: scene.now)
            scene.book.decide(at: scene.now)
            guard case .show(let shown, _)? = scene.book.takeEffects().last else {
                Issue.record("not shown")
                return
            }
            scene.step { $0.apply(.refused(token: shown, isGone: isGone, detail: ""), now: $1) }
            #expect(scene.screen.isEmpty)
            #expect(scene.rows.map(\.state) == (isGone ? [.pending] : [.shown]))
            scene.serve(nil)
            scene.serve(NotificationServer(identity: "bus/:1.9", capabilities: []))
            #expect(scene.screen.count == (isGone ? 1 : 0))
        }
    }

    /// Adds one notification to be shown in 100 s, and one to be shown every 60 s.
    private static func addOnceAndAgain(to scene: inout Scene) throws {
        try scene.step { (book, now) throws(Problem) in
            try book.add(
                NotificationRequest(notification: Scene.notification("once"), delay: 100), for: Scene.app, now: now)
            try book.add(
                NotificationRequest(notification: Scene.notification("again"), delay: 60, repeats: true),
                for: Scene.app, now: now)
        }
    }

    @Test func `R3: Delayed and repeating notifications appear in time, and missed times are skipped`() throws {
        var scene = Scene()
        try Self.addOnceAndAgain(to: &scene)
        #expect(scene.book.nextDeadline == scene.now + 60)
        #expect(scene.book.notifications(of: Scene.app).pending.map(\.delay) == [100, 60])
        scene.pass(59)
        #expect(scene.screen.isEmpty)
        scene.pass(1)
        #expect(scene.screen.count == 1)
        scene.pass(40)
        #expect(scene.screen.count == 2 && scene.book.nextDeadline == scene.now + 20)
        scene.pass(1_000)
        #expect(scene.screen.count == 2 && scene.book.nextDeadline == scene.now + 60)
        #expect(scene.book.notifications(of: Scene.app).pending.map(\.repeats) == [true])
        scene.step { book, _ in book.remove(["again"], of: Scene.app, isShown: false) }
        #expect(scene.book.nextDeadline == nil && scene.screen.count == 2)
        scene.step { book, _ in book.remove(nil, of: Scene.app) }
        #expect(scene.screen.isEmpty && scene.rows.isEmpty)
    }

    @Test func `R3: The service refuses an invalid request and reports the location of the error`() {
        var scene = Scene()
        var good = NotificationRequest(notification: Scene.notification("a"))
        var long = good
        long.notification.body = String(repeating: "x", count: Limits.notificationText + 1)
        var nameless = good
        nameless.notification.identifier = ""
        var crowded = good
        crowded.notification.actions = Array(
            repeating: AppNotification.Action(identifier: "a", title: "", isForeground: true),
            count: Limits.notificationActions + 1)
        var cases: [(NotificationRequest, String?)] = [
            (long, "/notification/body"), (nameless, "/notification/identifier"), (crowded, "/notification/actions"),
        ]
        for (delay, repeats) in [(0.0, false), (-1, false), (.nan, false), (.infinity, false), (59, true)] {
            good.delay = delay
            good.repeats = repeats
            cases.append((good, "/delay"))
        }
        for (request, pointer) in cases {
            var problem: Problem?
            scene.step { book, now in
                do throws(Problem) { try book.add(request, for: Scene.app, now: now) } catch { problem = error }
            }
            #expect(problem?.status == 422 && problem?.pointer == pointer, "\(String(describing: pointer))")
        }
        #expect(scene.rows.isEmpty)
        var denied = Scene(permission: .ask)
        var status: Int?
        denied.step { book, now in
            do throws(Problem) {
                try book.add(NotificationRequest(notification: Scene.notification("a")), for: Scene.app, now: now)
            } catch { status = error.status }
        }
        #expect(status == 403)
    }

    @Test func `R3: A question appears once, on every server with actions, until the user answers it`() {
        var scene = Scene(server: nil)
        var number: Int64 = 0
        let question = NotificationQuestion(
            app: Scene.app, purpose: "p", title: "May it?", body: "<b>",
            choices: [.init(key: "yes", title: "Yes"), .init(key: "no", title: "No")])
        scene.step { book, _ in number = book.ask(question) }
        scene.step { book, _ in #expect(book.ask(question) == number) }
        scene.serve(NotificationServer(identity: "bus/:1.2", capabilities: ["body"]))
        #expect(scene.screen.isEmpty, "nobody could answer there")
        scene.serve(Scene.all)
        #expect(scene.screen.count == 1 && scene.screen.values.allSatisfy { $0.stays && $0.body == "&lt;b&gt;" })
        scene.serve(nil)
        scene.serve(Scene.all)
        #expect(scene.screen.count == 1)
        let shown = scene.screen.keys.max() ?? 0
        scene.choose(shown, "default")
        #expect(!scene.effects.contains(.answer(question: number, nil)))
        scene.choose(shown, "choice-1")
        #expect(scene.effects.contains(.answer(question: number, "no")))
        scene.effects = []
        scene.step { book, _ in number = book.ask(question) }
        scene.close(scene.screen.keys.max() ?? 0, .dismissed)
        #expect(scene.effects == [.answer(question: number, nil)])
        scene.step { book, _ in number = book.ask(question) }
        scene.step { book, _ in book.forget(Scene.app) }
        #expect(scene.effects.contains(.answer(question: number, nil)) && scene.screen.count == 1)
    }

    @Test func `R3: A denied app loses its shown notifications and badge, and a removed app all data`()
        throws
    {
        var scene = Scene()
        try scene.step { (book, _) throws(Problem) in try book.setBadge(4, of: Scene.app) }
        #expect(scene.effects == [.badge(Scene.app, 4)])
        scene.effects = []
        scene.step { $0.apply(.connected, now: $1) }
        #expect(scene.effects == [.badge(Scene.app, 4)], "docks of a new bus")
        scene.effects = []
        scene.step { $0.apply(.dock, now: $1) }
        #expect(scene.effects == [.badge(Scene.app, 4)], "a dock that comes later")
        scene.put(Scene.notification("a"), due: scene.now)
        scene.put(Scene.notification("b"), due: scene.now + 100)
        scene.effects = []
        scene.step { $0.setPermission(.denied, of: Scene.app, now: $1) }
        #expect(scene.screen.isEmpty && scene.rows.isEmpty && scene.effects.contains(.badge(Scene.app, 0)))
        scene.step { book, _ in book.forget(Scene.app) }
        #expect(scene.records.isEmpty && scene.book.permission(of: Scene.app) == .ask)
    }

    @Test func `R3: The service repeats a failed write with the current values`() throws {
        var scene = Scene()
        let waiting = NotificationRequest(notification: Scene.notification("a"), delay: 100)
        scene.fail { book, now in
            try? book.add(waiting, for: Scene.app, now: now)
            try? book.setBadge(1, of: Scene.app)
        } later: { scene in
            scene.step { book, _ in
                book.remove(["a"], of: Scene.app)
                try? book.setBadge(2, of: Scene.app)
            }
        }
        #expect(scene.rows.isEmpty && scene.records[Scene.app]?.badge == 2)
        scene.put(Scene.notification("b"), due: scene.now)
        scene.fail { book, _ in
            book.remove(["b"], of: Scene.app)
        } later: { scene in
            scene.step {
                try? $0.add(NotificationRequest(notification: Scene.notification("b")), for: Scene.app, now: $1)
            }
        }
        #expect(scene.rows.map(\.notification.identifier) == ["b"] && scene.screen.count == 1)
        // The user responds before the disk records that the notification is shown.
        let number = try #require(scene.screen.keys.first)
        scene.fail { book, now in
            book.apply(.closed(server: Scene.all.identity, number: number, .expired), now: now)
        } later: {
            $0.step { book, _ in book.remove(["b"], of: Scene.app) }
        }
        #expect(scene.rows.isEmpty)
        scene.fail { book, now in
            try? book.add(waiting, for: Scene.app, now: now)
        } later: {
            $0.step { book, _ in book.forget(Scene.app) }
        }
        #expect(scene.rows.isEmpty && scene.records.isEmpty)
        scene.fail { book, _ in
            book.forget(Scene.app)
        } later: {
            $0.step { $0.setPermission(.allowed, of: Scene.app, now: $1) }
        }
        #expect(scene.records[Scene.app]?.permission == .allowed)
    }

    @Test func `R3: The service writes a response again, without another event, if a write failed`() throws {
        var scene = Scene()
        scene.put(Scene.notification("a"), due: scene.now)
        let number = try #require(scene.screen.keys.first)
        scene.fail { $0.apply(.chosen(server: Scene.all.identity, number: number, key: "default"), now: $1) }
        #expect(scene.responses.isEmpty && scene.rows.count == 1)
        scene.pass(60)
        #expect(scene.responses.map(\.action) == [NotificationResponse.opened] && scene.rows.isEmpty)
        scene.pass(60)
        #expect(scene.responses.count == 1)
    }

    @Test func `R3: A delay does not grow if the clock is set back`() throws {
        var scene = Scene()
        try Self.addOnceAndAgain(to: &scene)
        // The clock of a device without a clock battery may be wrong by years.
        scene.now -= 1e8
        scene.pass(0)
        #expect(scene.book.nextDeadline == scene.now + 60)
        #expect(Set(scene.rows.map(\.due)) == [scene.now + 60, scene.now + 100])
        scene.pass(60)
        #expect(scene.screen.count == 1)
        scene.pass(40)
        #expect(scene.screen.count == 2 && scene.rows.count { $0.state == .shown } == 2)
    }
}
