import Foundation
import Nightshift
import NightshiftAPI
import TestSupport
import Testing

/// Tests of the presentation of notifications while the app is in the foreground, and of the user's responses (row R3).
@Suite @MainActor struct NotificationDelegateTests {
    private struct App {
        var world: World
        var center: UNUserNotificationCenter
        var delegate: (any UNUserNotificationCenterDelegate)?
    }

    /// Launches an app after the delegate of its center was set.
    private func launch(
        _ delegate: (any UNUserNotificationCenterDelegate)?, as appDelegate: any ApplicationDelegate = PlainDelegate()
    ) async throws -> App {
        let world = try World()
        let connection = world.process().connection
        let center = UNUserNotificationCenter(connection: connection)
        center.delegate = delegate
        let application = Application(connection: connection)
        application.delegate = appDelegate
        application.launch(environment: [:])
        kept.append((application, center))
        try await world.service.state.wait(for: "the channel") { !$0.channels.isEmpty }
        return App(world: world, center: center, delegate: delegate)
    }

    private func notification(_ title: String = "Title") -> AppNotification {
        var notification = AppNotification(identifier: "one", date: Date(timeIntervalSince1970: 1_800_000_000))
        notification.title = title
        notification.isRemote = true
        notification.userInfo = #"{"aps":{"alert":"Title"}}"#
        return notification
    }

    private func acknowledged(_ app: App, _ command: Int64) async throws {
        try await app.world.service.state.wait(for: "the acknowledgement") {
            $0.acknowledgedCommands.contains(command)
        }
    }

    // MARK: - Presentation in the foreground

    @Test func `R3: The delegate decides once how a notification is presented`() async throws {
        let delegate = CallingDelegate()
        let app = try await launch(delegate)
        try app.world.service.present(1, notification())
        try await delegate.heard.wait(for: "the question") { $0 == ["present Title"] }
        #expect(app.world.service.state.read { $0.acknowledgedCommands } == [])
        let handler = try #require(delegate.presentations.read { $0.first })
        handler([.banner, .sound, UNNotificationPresentationOptions(rawValue: 1 << 20)])
        handler([])
        try await app.world.service.state.wait(for: "the answer") { $0.push.presentations == [1: 18] }
        // The acknowledgement was lost, but the library does not ask the delegate again.
        app.world.service.state.update { $0.push.presentations = [:] }
        try app.world.service.present(1, notification())
        try await app.world.service.state.wait(for: "the answer again") { $0.push.presentations == [1: 18] }
        #expect(delegate.heard.read { $0 } == ["present Title"])
    }

    @Test func `R3: A delegate may implement the asynchronous methods`() async throws {
        let delegate = WaitingDelegate()
        let app = try await launch(delegate)
        try app.world.service.present(1, notification())
        try await app.world.service.state.wait(for: "the answer") { $0.push.presentations == [1: 24] }
        try app.world.service.respond(2, NotificationResponse(notification: notification(), action: "later"))
        try await app.world.service.state.wait(for: "the acknowledgement") { $0.results == [2: .newData] }
        #expect(delegate.heard.read { $0 } == ["later"])
    }

    @Test func `R3: A delegate without the method hides notifications, but a missing delegate does not`()
        async throws
    {
        let silent = try await launch(SilentDelegate())
        try silent.world.service.present(1, notification())
        try await silent.world.service.state.wait(for: "the answer") { $0.push.presentations == [1: 0] }
        try silent.world.service.respond(
            2, NotificationResponse(notification: notification(), action: NotificationResponse.opened))
        try await silent.world.service.state.wait(for: "the acknowledgement") { $0.results == [2: .newData] }
        let none = try await launch(nil)
        try none.world.service.present(1, notification())
        try await acknowledged(none, 1)
        #expect(none.world.service.state.read { $0.push.presentations } == [:])
    }

    @Test func `R3: A released delegate no longer affects how notifications are shown`() async throws {
        let app = try await {
            var app = try await launch(CallingDelegate())
            app.delegate = nil
            return app
        }()
        #expect(app.center.delegate == nil)
        try app.world.service.present(1, notification())
        try await acknowledged(app, 1)
        #expect(app.world.service.state.read { $0.push.presentations } == [:])
    }

    @Test func `R3: In a program without an application object, the service decides the presentation`() async throws {
        let world = try World()
        try world.process().connection.openChannel(until: .now + .seconds(60))
        try world.service.present(1, notification())
        try await world.service.state.wait(for: "the acknowledgement") { $0.acknowledgedCommands == [1] }
        #expect(world.service.state.read { $0.push.presentations } == [:])
    }

    // MARK: - Responses

    @Test func `R3: The delegate receives the user's response and calls its completion handler`() async throws {
        let delegate = CallingDelegate()
        let app = try await launch(delegate)
        let response = NotificationResponse(notification: notification(), action: NotificationResponse.opened)
        try app.world.service.respond(1, response)
        try await delegate.heard.wait(for: "the response") {
            $0 == ["com.apple.UNNotificationDefaultActionIdentifier of one: Title"]
        }
        #expect(app.world.service.state.read { $0.acknowledgedCommands } == [])
        let completion = try #require(delegate.completions.read { $0.first })
        completion()
        try await app.world.service.state.wait(for: "the acknowledgement") { $0.results == [1: .newData] }
    }

    @Test func `R3: A response waits until the launch has ended, for the delegate that is set by then`() async throws {
        let world = try World()
        let connection = world.process().connection
        try connection.openChannel(until: .now + .seconds(60))
        let response = NotificationResponse(notification: notification(), action: NotificationResponse.opened)
        try world.service.respond(1, response)
        // The library handles the response before the snapshot command, while the app is not launched yet.
        world.service.command(ProcessCommand(number: 2, action: .snapshot))
        try await world.service.state.wait(for: "the later command") { $0.acknowledgedCommands == [2] }
        await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
        let center = UNUserNotificationCenter(connection: connection)
        let delegate = CallingDelegate()
        let application = Application(connection: connection)
        application.delegate = LaunchingDelegate { center.delegate = delegate }
        application.launch(environment: ["NIGHTSHIFT_APP": "/app"])
        kept.append((application, center))
        try await delegate.heard.wait(for: "the response") { $0.count == 1 }
        let completion = try #require(delegate.completions.read { $0.first })
        completion()
        try await world.service.state.wait(for: "the acknowledgement") { $0.results == [1: .newData] }
    }

    @Test func `R3: Without a delegate, an opened remote notification reaches the app delegate`() async throws {
        let appDelegate = FetchingDelegate()
        let app = try await launch(nil, as: appDelegate)
        let opened = NotificationResponse(notification: notification(), action: NotificationResponse.opened)
        try app.world.service.respond(1, opened)
        try await app.world.service.state.wait(for: "the acknowledgement") { $0.results == [1: .failed] }
        #expect(appDelegate.alerts.read { $0 } == ["Title"])
        try app.world.service.respond(2, NotificationResponse(notification: notification(), action: "later"))
        try await app.world.service.state.wait(for: "the other") { $0.results[2] == .noData }
        #expect(appDelegate.alerts.read { $0.count } == 1)
    }
}

/// The applications and centers that must exist until their process ends. Nothing else retains them.
@MainActor private var kept: [(Application, UNUserNotificationCenter)] = []

private final class CallingDelegate: NSObject, UNUserNotificationCenterDelegate {
    let heard = Watched<[String]>([])
    let presentations = Watched<[@Sendable (UNNotificationPresentationOptions) -> Void]>([])
    let completions = Watched<[@Sendable () -> Void]>([])

    func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
        withCompletionHandler completionHandler: @escaping @Sendable (UNNotificationPresentationOptions) -> Void
    ) {
        dispatchPrecondition(condition: .onQueue(.main))
        presentations.update { $0.append(completionHandler) }
        heard.update { $0.append("present \(notification.request.content.title)") }
    }

    func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
        withCompletionHandler completionHandler: @escaping @Sendable () -> Void
    ) {
        dispatchPrecondition(condition: .onQueue(.main))
        completions.update { $0.append(completionHandler) }
        let request = response.notification.request
        heard.update { $0.append("\(response.actionIdentifier) of \(request.identifier): \(request.content.title)") }
    }
}

private final class WaitingDelegate: NSObject, UNUserNotificationCenterDelegate {
    let heard = Watched<[String]>([])

    func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification
    ) async -> UNNotificationPresentationOptions {
        await Task.yield()
        return [.banner, .list]
    }

    func userNotificationCenter(_ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse) async {
        await Task.yield()
        heard.update { $0.append(response.actionIdentifier) }
    }
}

private final class SilentDelegate: NSObject, UNUserNotificationCenterDelegate {}

private final class PlainDelegate: ApplicationDelegate {
    nonisolated init() {}
}

@MainActor private final class LaunchingDelegate: ApplicationDelegate {
    private let body: @MainActor () -> Void

    nonisolated init() {
        body = {}
    }

    init(_ body: @escaping @MainActor () -> Void) {
        self.body = body
    }

    func application(
        _ application: Application, didFinishLaunchingWithOptions launchOptions: [Application.LaunchOptionsKey: Any]?
    ) -> Bool {
        body()
        return true
    }
}

@MainActor private final class FetchingDelegate: ApplicationDelegate {
    let alerts = Watched<[String]>([])

    nonisolated init() {}

    func application(
        _ application: Application, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
        fetchCompletionHandler completionHandler: @escaping (BackgroundFetchResult) -> Void
    ) {
        let alert = (userInfo["aps"] as? [String: Any])?["alert"] as? String
        alerts.update { $0.append(alert ?? "none") }
        completionHandler(.failed)
    }
}
