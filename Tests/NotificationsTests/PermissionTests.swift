import Device
import Foundation
import NightshiftAPI
import Notifications
import Store
import Testing

/// Tests of alerts of providers before and after the user's decision about notifications (R3, B6).
@Suite struct PermissionTests {
    private typealias Scene = StateScene

    private static func alert(_ identifier: String, _ change: (inout AppNotification) -> Void = { _ in })
        -> AppNotification
    {
        var alert = Scene.notification(identifier)
        alert.isRemote = true
        change(&alert)
        return alert
    }

    private static func states(_ scene: Scene) -> [AlertState] {
        scene.effects.compactMap { if case .became(_, _, let state, _) = $0 { state } else { nil } }
    }

    @Test(arguments: [NotificationPermission.allowed, .provisional, .denied])
    func `R3: An alert without permission waits until the user's answer shows or drops the alert`(
        answer: NotificationPermission
    ) {
        var scene = Scene(permission: .ask)
        scene.put(Self.alert("a"), due: scene.now)
        scene.put(Self.alert("b"), due: scene.now)
        #expect(scene.screen.isEmpty && scene.rows.map(\.state) == [.due, .due])
        #expect(Self.states(scene) == [.permission, .permission])
        #expect(scene.effects.filter { $0 == .askPermission(Scene.app) }.count == 1)
        #expect(scene.entries.map(\.decision) == [.notificationNotShown, .notificationNotShown])
        #expect(scene.entries.allSatisfy { $0.detail?.contains("--allow") == true })
        // The clock is set back, and the service restarts.
        scene.now -= 86_400
        scene.effects = []
        scene.restart()
        #expect(scene.rows.count == 2 && scene.effects.contains(.askPermission(Scene.app)))
        scene.effects = []
        scene.step { $0.setPermission(answer, of: Scene.app, now: $1) }
        #expect(scene.effects.contains(.permissionChanged(Scene.app)))
        #expect(scene.screen.count == (answer.shows ? 2 : 0) && scene.rows.count == scene.screen.count)
        #expect(Self.states(scene) == Array(repeating: answer.shows ? .shown : .denied, count: 2))
    }

    @Test func `R3: The service keeps the next alert and asks again if the permission is reset`() {
        var scene = Scene(server: nil)
        scene.put(Self.alert("a"), due: scene.now)
        scene.put(Scene.notification("own"), due: scene.now + 60)
        #expect(Self.states(scene) == [.server])
        scene.step { $0.setPermission(.ask, of: Scene.app, now: $1) }
        #expect(scene.rows.map(\.notification.identifier) == ["a"] && Self.states(scene) == [.server, .permission])
        #expect(scene.effects.contains(.askPermission(Scene.app)))
        scene.serve(Scene.all)
        #expect(scene.screen.isEmpty)
        scene.step { $0.setPermission(.allowed, of: Scene.app, now: $1) }
        #expect(scene.screen.count == 1)
    }

    @Test func `R3: An alert that waits for its app asks for permission when it is unblocked`() {
        var scene = Scene(permission: .ask)
        scene.put(Self.alert("a"), due: nil)
        #expect(scene.effects.isEmpty && scene.rows.map(\.state) == [.pending])
        scene.rows[0].due = scene.now
        scene.load()
        #expect(Self.states(scene) == [.permission] && scene.effects.contains(.askPermission(Scene.app)))
    }

    @Test func `R3: A badge or sound without text is never reported as shown`() {
        for permission in [NotificationPermission.ask, .allowed, .denied] {
            var scene = Scene(permission: permission)
            for (identifier, badge) in [("sound", nil), ("badge", 3)] as [(String, Int?)] {
                let alert = Self.alert(identifier) { ($0.title, $0.sound, $0.badge) = ("", "default", badge) }
                scene.put(alert, due: scene.now)
            }
            let badge: AlertState =
                switch permission {
                case .ask: .permission
                case .denied: .denied
                case .allowed, .provisional: .badge
                }
            #expect(Self.states(scene) == [.noText, badge])
            #expect(scene.rows.count == (permission == .ask ? 1 : 0) && scene.screen.isEmpty)
            #expect(scene.records[Scene.app]?.badge ?? 0 == (permission == .allowed ? 3 : 0))
        }
    }

    @Test(arguments: [(PresentationAnswer.options(0), false), (.options(8), true), (.options(16), true)])
    func `R3: A notification that an app in the foreground hides is not reported as shown`(
        answer: PresentationAnswer, isListed: Bool
    ) {
        var scene = Scene()
        scene.answer = answer
        scene.put(Self.alert("a"), due: scene.now)
        let pops = answer == .options(16)
        #expect(Self.states(scene) == [pops ? .shown : .inApp] && scene.rows.count == (isListed ? 1 : 0))
        #expect(scene.entries.map(\.decision) == [pops ? .notificationShown : .notificationNotShown])
    }

    @Test func `R3: The service drops the oldest waiting alert when there are too many`() {
        var scene = Scene(permission: .ask)
        for number in 0...Limits.notifications { scene.put(Self.alert("\(number)"), due: scene.now) }
        #expect(scene.rows.count == Limits.notifications)
        let gone = scene.effects.compactMap { effect -> String? in
            if case .became(_, let identifier, .crowded, _) = effect { identifier } else { nil }
        }
        #expect(gone == ["0"])
    }

    @Test func `R3: An older read of the disk does not make an alert count as crowded out`() {
        var scene = Scene(permission: .ask)
        let older = scene.rows
        scene.put(Self.alert("1"), due: scene.now)
        let rows = scene.rows
        scene.rows = older
        scene.load()
        scene.rows = rows
        scene.load()
        let isCrowded = scene.effects.contains { if case .became(_, _, .crowded, _) = $0 { true } else { false } }
        #expect(!isCrowded)
    }
}
