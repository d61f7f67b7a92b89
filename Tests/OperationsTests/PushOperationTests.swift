import Foundation
import NightshiftAPI
import Notifications
import Operations
import Push
import Testing

/// R3: Requests about remote notifications from app processes and from the user, and the app that each request
/// concerns.
@Suite(.timeLimit(.minutes(20))) struct PushOperationTests {
    @Test func `R3: Only a process that is connected can register and unregister its app`()
        async throws
    {
        let scene = try await OperationScene(keys: "X-Nightshift-BackgroundModes=remote-notification;")
        let (push, operations) = (scene.operations.push, scene.operations)
        let stranger = try await problem { try await operations.registerForPush(by: CallingProcess(getpid())) }
        #expect(stranger.type == "/problems/not-connected")
        let process = try await scene.launch()
        #expect(await push.notice(for: OperationScene.app) == nil)
        let notice = try await operations.registerForPush(by: CallingProcess(process))
        #expect(notice.token == nil && notice.error?.contains("nightshift push enrol") == true)
        #expect(try await push.status(of: OperationScene.app).isRegistered)
        #expect(try await push.status().apps.map(\.app) == [OperationScene.app])
        try await operations.unregisterForPush(by: CallingProcess(process))
        #expect(try await push.status(of: OperationScene.app).isRegistered == false)
        #expect(try await scene.journal(.pushRegistered).count == 2)
        try await scene.end()
    }

    @Test func `R3: The user's permission for an app's alerts covers both push and notifications`() async throws {
        let scene = try await OperationScene()
        let operations = scene.operations
        for permission in [NotificationPermission.denied, .allowed] {
            let change = AppPushChange(alerts: permission)
            #expect(try await operations.change(OperationScene.app, change).alerts == permission)
            #expect(await operations.notifications.permission(of: OperationScene.app) == permission)
        }
        #expect(try await operations.change(OperationScene.app, AppPushChange()).alerts == .allowed)
        let missing = try await problem {
            try await operations.change(AppID(rawValue: "org.example.none"), AppPushChange(alerts: .denied))
        }
        #expect(missing.status == 404)
        try await scene.end()
    }
}
