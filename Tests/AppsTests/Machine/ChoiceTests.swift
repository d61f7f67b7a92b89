import Apps
import Foundation
import NightshiftAPI
import Store
import Testing

/// Tests of responses to notifications. Those that bring the app to the foreground reach it there; all others reach it
/// in the background.
@Suite struct ChoiceTests {
    private func choice(_ through: Int64, _ action: String = NotificationResponse.opened) throws -> WantedWake {
        var notification = AppNotification(identifier: "n", date: Date(timeIntervalSince1970: 1_800_000_000))
        notification.actions = [
            AppNotification.Action(identifier: "reply", title: "Reply", isForeground: true),
            AppNotification.Action(identifier: "later", title: "Later", isForeground: false),
        ]
        var wake = WantedWake.row(.response, through, key: "n")
        wake.payload = try JSON.encode(NotificationResponse(notification: notification, action: action))
        return wake
    }

    private func launch(_ app: inout TestApp) { app.feed { $0.launch(background: false, arguments: [], now: $1) } }

    @Test(arguments: [NotificationResponse.opened, "reply"])
    func `R3: A response for the foreground does not launch the app in the background`(
        action: String
    ) throws {
        var app = TestApp()
        let wake = try choice(1, action)
        app.setWantedWakes([wake])
        #expect(app.taken == [] && app.machine.wakes(now: app.now).isEmpty)
        launch(&app)
        #expect(app.taken.contains(.spawn(background: false, wakes: [wake], arguments: [])))
        app.spawned()
        app.connected()
        let told = app.commands.filter { $0.action == .handleWake }
        #expect(told.map(\.payload) == [wake.payload] && told.first?.limit == nil)
        app.acknowledgeAll()
        #expect(app.ends == [.finishWake(wake, .acknowledged(.newData))])
        app.setWantedWakes([])
        app.leave()
        app.acknowledgeAll()
        #expect(app.state == .suspended)
    }

    @Test(arguments: ["later", NotificationResponse.dismissed, "unknown"])
    func `R3: A response that does not need the foreground reaches the app in the background`(action: String) throws {
        var app = TestApp()
        let wake = try choice(1, action)
        app.setWantedWakes([wake])
        #expect(app.taken == [.spawn(background: true, wakes: [wake], arguments: [])])
    }

    @Test func `R3: A suspended app gets a foreground response when it enters the foreground`() throws {
        var app = TestApp()
        app.suspended()
        app.setWantedWakes([try choice(1)])
        #expect(app.taken == [] && app.state == .suspended)
        app.feed { $0.bringToFront(now: $1) }
        #expect(app.commands.contains { $0.action == .handleWake && $0.source == .response })
    }

    @Test(arguments: [true, false])
    func `R3: A program without the library gets responses when it is launched, without a restart`(
        leaves: Bool
    ) throws {
        var app = TestApp()
        let wake = try choice(1)
        app.setWantedWakes([wake])
        launch(&app)
        app.spawned()
        #expect(app.ends == [])
        if leaves {
            app.feed { $0.sendToBackground(now: $1) }
            #expect(app.ends.count == 1)
        }
        app.exited(.failed, status: 1)
        app.setWantedWakes([wake])
        app.pass(3_600)
        #expect(app.ends.count == 1 && app.all.count { $0.isSpawn } == 1)
    }

    @Test func `R3: An app that dies before it receives a response gets it when the user starts it again`() throws {
        var app = TestApp()
        app.suspended()
        app.exited(.signalled)
        let wake = try choice(1)
        app.setWantedWakes([wake])
        launch(&app)
        app.spawned()
        app.exited(.signalled)
        app.pass(3_600)
        #expect(app.ends == [] && !app.taken.contains { $0.isSpawn })
        launch(&app)
        #expect(app.taken.contains(.spawn(background: false, wakes: [wake], arguments: [])))
    }
}
