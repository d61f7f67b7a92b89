import Foundation
import NightshiftAPI
import Notifications
import Operations
import Store
import Testing

/// R3: Notification requests of app processes.
@Suite(.timeLimit(.minutes(20))) struct NotificationOperationTests {
    private static func request(_ identifier: String, delay: Double) -> NotificationRequest {
        var notification = AppNotification(identifier: identifier, date: Date(timeIntervalSince1970: 5))
        notification.title = "Title"
        return NotificationRequest(notification: notification, delay: delay)
    }

    /// A test of the rule that the service does not show the notifications of a removed app.
    @Test func `R3: An app whose data is temporarily unreadable does not count as removed`() async throws {
        let scene = try await OperationScene()
        #expect(await scene.apps.entry(of: OperationScene.app)?.name == "App")
        #expect(await scene.apps.entry(of: AppID(rawValue: "org.example.none")) == nil)
        try scene.store.close()
        #expect(await scene.apps.entry(of: OperationScene.app)?.name == OperationScene.app.rawValue)
        // This call closes the store, too.
        try? await scene.end()
    }

    @Test func `R3: The process of a permitted app can post, list and remove notifications`()
        async throws
    {
        let scene = try await OperationScene()
        let (process, operations) = (try await scene.launch(), scene.operations)
        let refused = try await problem {
            try await operations.notify(Self.request("a", delay: 60), by: CallingProcess(process))
        }
        #expect(refused.status == 403)
        var answer = try await operations.requestNotifications(
            NotificationAuthorizationRequest(isProvisional: true), by: CallingProcess(process))
        #expect(answer.permission == .provisional && !answer.canShow && answer.pending.isEmpty)
        for identifier in ["a", "b"] {
            try await operations.notify(Self.request(identifier, delay: 60), by: CallingProcess(process))
        }
        try await operations.set(BadgeChange(count: 2), by: CallingProcess(process))
        try await operations.set(NotificationCategories(categories: []), by: CallingProcess(process))
        answer = try await operations.processNotifications(by: CallingProcess(process))
        #expect(answer.pending.map(\.notification.identifier) == ["a", "b"])
        #expect(answer.pending.map(\.delay) == [60, 60])
        try await operations.removeNotifications(["a"], by: CallingProcess(process))
        answer = try await operations.processNotifications(by: CallingProcess(process))
        #expect(answer.pending.map(\.notification.identifier) == ["b"])
        let stranger = try await problem {
            _ = try await operations.processNotifications(by: CallingProcess(getpid()))
        }
        #expect(stranger.type == "/problems/not-connected")
        try await scene.end()
    }
}
