import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import Nightshift

/// Tests of a token for the app's provider, and of wakes for remote notifications (rows R3 and R4).
@Suite @MainActor struct RemoteNotificationTests {
    @discardableResult
    private func launch(
        _ delegate: any ApplicationDelegate, in world: World, environment: [String: String] = [:]
    ) -> Application {
        let application = Application(connection: world.process().connection)
        application.delegate = delegate
        application.launch(environment: environment)
        kept.append(application)
        return application
    }

    private func connected(_ world: World) async throws {
        try await world.service.state.wait(for: "the channel") { !$0.channels.isEmpty }
    }

    // MARK: - The token

    @Test func `R4: The app gets the token as bytes at each registration, and when it has changed`() async throws {
        let world = try World()
        let delegate = FetchingDelegate()
        let application = launch(delegate, in: world)
        #expect(!application.isRegisteredForRemoteNotifications)
        application.registerForRemoteNotifications()
        try await delegate.heard.wait(for: "the token") { $0 == ["launched", "token 0a0b"] }
        #expect(application.isRegisteredForRemoteNotifications)
        application.registerForRemoteNotifications()
        try await delegate.heard.wait(for: "the token again") { $0.count == 3 }
        // The library does not deliver a token again that the app has already received.
        world.service.tell(PushNotice(token: "0a0B"))
        world.service.tell(PushNotice(token: "ff00ff"))
        try await delegate.heard.wait(for: "the new token") {
            $0 == ["launched", "token 0a0b", "token 0a0b", "token ff00ff"]
        }
    }

    @Test func `R4: If there is no token, the app gets the service's reason, and later the token`() async throws {
        let world = try World()
        world.service.state.update { $0.push.answer = PushNotice(error: "The device is enrolled nowhere.") }
        let delegate = FetchingDelegate()
        let application = launch(delegate, in: world)
        application.registerForRemoteNotifications()
        let failure = "NSCocoaErrorDomain 3000 The device is enrolled nowhere."
        try await delegate.heard.wait(for: "the failure") { $0 == ["launched", failure] }
        #expect(!application.isRegisteredForRemoteNotifications)
        world.service.tell(PushNotice(token: "01"))
        try await delegate.heard.wait(for: "the token") { $0.last == "token 01" }
        world.service.state.update { $0.refusals["PUT /v1/process/push"] = .forbidden("Not you.") }
        application.registerForRemoteNotifications()
        try await delegate.heard.wait(for: "the refusal") { $0.last == "NSCocoaErrorDomain 3000 Not you." }
    }

    @Test func `R4: An app can register without a service, and registers again on each channel`() async throws {
        let world = try World()
        world.service.stop()
        let delegate = FetchingDelegate()
        let application = launch(delegate, in: world)
        application.registerForRemoteNotifications()
        try world.service.start()
        try await delegate.heard.wait(for: "the token") { $0.last == "token 0a0b" }
        world.service.state.update { state in
            state.push.registrations = 0
            state.push.answer = PushNotice(token: "0c")
        }
        world.service.breakStreams()
        try await delegate.heard.wait(for: "the next token") { $0 == ["launched", "token 0a0b", "token 0c"] }
    }

    @Test func `R4: The token of an earlier launch is delivered only after the app registers`() async throws {
        let world = try World()
        world.service.state.update { $0.push.notice = PushNotice(token: "0a0b") }
        let delegate = FetchingDelegate()
        let application = launch(delegate, in: world)
        try await eventually("the service's word") { application.isRegisteredForRemoteNotifications }
        #expect(delegate.heard.read { $0 } == ["launched"])
        application.registerForRemoteNotifications()
        try await delegate.heard.wait(for: "the token") { $0 == ["launched", "token 0a0b"] }
    }

    @Test func `R4: An app that unregisters gets no token, and the service is notified later`()
        async throws
    {
        let world = try World()
        let delegate = FetchingDelegate()
        let application = launch(delegate, in: world)
        application.registerForRemoteNotifications()
        try await delegate.heard.wait(for: "the token") { $0.last == "token 0a0b" }
        world.service.stop()
        application.unregisterForRemoteNotifications()
        #expect(!application.isRegisteredForRemoteNotifications)
        try world.service.start()
        try await world.service.state.wait(for: "the word") { $0.push.unregistrations == 1 }
        world.service.tell(PushNotice(token: "99"))
        // The library delivers the push after the notice.
        try world.service.deliver(1, "{}")
        try await delegate.heard.wait(for: "the later command") { $0.last == "received {}" }
        #expect(delegate.heard.read { $0 } == ["launched", "token 0a0b", "received {}"])
        #expect(!application.isRegisteredForRemoteNotifications)
    }

    @Test(
        arguments: [
            ("00ff7A", [0, 255, 122]), ("", nil), ("0", nil), ("0g", nil), ("é0", nil),
        ] as [(String, [UInt8]?)])
    func `R4: A token is hexadecimal and may have any length`(_ text: String, _ bytes: [UInt8]?) {
        #expect(PushNotice(token: text).tokenData == bytes.map { Data($0) })
    }

    // MARK: - Delivery

    @Test(arguments: [
        (BackgroundFetchResult.newData, RefreshResult.newData), (.noData, .noData), (.failed, .failed),
    ])
    func `R3: The library acknowledges a push once with the delegate's result, in any app state`(
        _ said: BackgroundFetchResult, _ acknowledged: RefreshResult
    ) async throws {
        let world = try World()
        let delegate = FetchingDelegate(holds: true)
        launch(delegate, in: world)
        try await connected(world)
        try world.service.deliver(1, #"{"aps":{"content-available":1}}"#)
        try await delegate.heard.wait(for: "it") { $0.last == #"received {"aps":{"content-available":1}}"# }
        #expect(world.service.state.read { $0.acknowledgedCommands } == [])
        var behind = ProcessCommand(number: 2, action: .enter)
        behind.state = .background
        world.service.command(behind)
        // This is the same push with another command number.
        try world.service.deliver(3, #"{"aps":{"content-available":1}}"#, through: 1)
        try world.service.deliver(4, #"{"second":1}"#)
        try await delegate.heard.wait(for: "the next") { $0.last == #"received {"second":1}"# }
        #expect(delegate.heard.read { $0.count } == 3)
        for handler in delegate.handlers {
            handler(said)
            handler(.newData)
        }
        try await world.service.state.wait(for: "the acknowledgements") {
            $0.results == [1: acknowledged, 3: acknowledged, 4: acknowledged]
        }
    }

    @Test func `R3: The delegate gets the complete payload of the provider, including null`() async throws {
        let world = try World()
        let delegate = FetchingDelegate(holds: true)
        launch(delegate, in: world)
        try await connected(world)
        let aps = #"{"alert":{"title":"T"},"badge":3,"content-available":1}"#
        try world.service.deliver(1, #"{"aps":\#(aps),"id":"x","none":null,"n":[1,2.5,true]}"#)
        try await delegate.heard.wait(for: "it") { $0.count == 2 }
        let userInfo = try #require(delegate.userInfos.first)
        let found = try #require(userInfo["aps"] as? [String: Any])
        #expect((found["alert"] as? [String: String]) == ["title": "T"])
        #expect(found["badge"] as? Int == 3 && found["content-available"] as? NSNumber == 1)
        #expect(userInfo["id"] as? String == "x" && userInfo["none"] is NSNull)
        #expect((userInfo["n"] as? [Any])?.count == 3)
        #expect((userInfo["aps"] as? [String: AnyObject]) != nil)
    }

    @Test func `R3: A payload that is not a JSON object reaches the delegate as an empty dictionary`() {
        #expect(UserInfo.remote("[1]").isEmpty && UserInfo.remote("{").isEmpty)
    }

    @Test func `R3: A delegate may implement the asynchronous form for pushes`() async throws {
        let world = try World()
        launch(WaitingDelegate(), in: world)
        try await connected(world)
        try world.service.deliver(1, "{}")
        try await world.service.state.wait(for: "the acknowledgement") { $0.results == [1: .newData] }
    }

    @Test func `R3: A delegate with the old method gets notifications and reports no result`() async throws {
        let world = try World()
        let delegate = OldDelegate()
        launch(delegate, in: world)
        try await connected(world)
        try world.service.deliver(1, #"{"a":1}"#)
        try await world.service.state.wait(for: "the acknowledgement") { $0.results == [1: .noData] }
        #expect(delegate.heard == [#"{"a":1}"#])
    }

    @Test func `R9: A notification without a delegate method ends with no data and prints the reason`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let world = try World()
            let process = world.process()
            await MainActor.run {
                let application = Application(connection: process.connection)
                application.delegate = DeafDelegate()
                application.launch(environment: [:])
                application.registerForRemoteNotifications()
                kept.append(application)
            }
            try await world.service.state.wait(for: "the channel") { !$0.channels.isEmpty }
            try world.service.deliver(1, "{}")
            try world.service.deliver(2, "{}")
            try await world.service.state.wait(for: "the acknowledgements") { $0.results == [1: .noData, 2: .noData] }
            try await eventually("the token's line") {
                await MainActor.run { kept.first?.advisedNotificationMethods.count == 2 }
            }
            exit(EXIT_SUCCESS)
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.components(separatedBy: "DeafDelegate does not implement the method").count == 3, "\(said)")
        #expect(said.contains("didReceiveRemoteNotification:fetchCompletionHandler:"), "\(said)")
        #expect(said.contains("didRegisterForRemoteNotificationsWithDeviceToken:"), "\(said)")
    }

    // MARK: - The launch

    /// Returns the environment of an app that was launched for `payloads`.
    private func environment(_ payloads: [any Encodable], in world: World) throws -> [String: String] {
        let parts = try payloads.map { String(decoding: try JSON.encode($0), as: UTF8.self) }
        let path = "\(world.directory.path)/payload"
        try Data("[\(parts.joined(separator: ","))]".utf8).write(to: URL(filePath: path))
        return [
            "NIGHTSHIFT_APP": "/app", "NIGHTSHIFT_LAUNCH": "background", "NIGHTSHIFT_WAKE": "push",
            "NIGHTSHIFT_PAYLOAD": path,
        ]
    }

    private func delivery(_ payload: String, id: String) -> PushDelivery {
        PushDelivery(id: id, payload: payload, received: Date(timeIntervalSince1970: 1_800_000_000))
    }

    @Test func `R3: The launch options contain the notification, which is delivered after the launch`()
        async throws
    {
        let world = try World()
        let delegate = FetchingDelegate()
        launch(
            delegate, in: world,
            environment: try environment(
                [["identifier": "home"], delivery(#"{"a":1}"#, id: "one")] as [any Encodable], in: world))
        #expect(delegate.launchedFor == #"{"a":1}"#)
        try await connected(world)
        try world.service.deliver(1, #"{"a":1}"#, id: "one")
        try await delegate.heard.wait(for: "it") { $0 == ["launched", #"received {"a":1}"#] }
        try await world.service.state.wait(for: "the acknowledgement") { $0.results == [1: .newData] }
    }

    @Test func `R3: The delegate's old method does not get the notification that launched the app`() async throws {
        let world = try World()
        let delegate = OldDelegate()
        launch(delegate, in: world, environment: try environment([delivery(#"{"a":1}"#, id: "one")], in: world))
        try await connected(world)
        try world.service.deliver(1, #"{"a":1}"#, id: "one")
        try world.service.deliver(2, #"{"b":1}"#, id: "two")
        try await world.service.state.wait(for: "both") { $0.results == [1: .noData, 2: .noData] }
        #expect(delegate.heard == [#"{"b":1}"#])
    }

    @Test func `R3: The launch options contain an opened remote notification that launched the app`() throws {
        let world = try World()
        let delegate = FetchingDelegate()
        var notification = AppNotification(identifier: "x", date: Date(timeIntervalSince1970: 1_800_000_000))
        notification.isRemote = true
        notification.userInfo = #"{"aps":{}}"#
        let response = NotificationResponse(notification: notification, action: NotificationResponse.opened)
        launch(delegate, in: world, environment: try environment([response], in: world))
        #expect(delegate.launchedFor == #"{"aps":{}}"#)
    }

    @Test func `R3: The launch options contain no notification after a launch for another reason`() throws {
        let world = try World()
        let delegate = FetchingDelegate()
        launch(delegate, in: world, environment: ["NIGHTSHIFT_APP": "/app", "NIGHTSHIFT_PAYLOAD": "/nowhere"])
        #expect(delegate.launchedFor == nil)
    }

    // MARK: - The badge

    @Test func `R4: The library sends the badge asynchronously, and reading it returns the last value`() async throws {
        let world = try World()
        world.service.stop()
        let application = launch(FetchingDelegate(), in: world)
        #expect(application.applicationIconBadgeNumber == 0)
        application.applicationIconBadgeNumber = 3
        application.applicationIconBadgeNumber += 1
        #expect(application.applicationIconBadgeNumber == 4)
        try world.service.start()
        try await world.service.state.wait(for: "the badge") { $0.push.badges.last == 4 }
    }
}

/// The applications that must exist until their process ends. Nothing else retains them.
@MainActor private var kept: [Application] = []

private func text(_ userInfo: [AnyHashable: Any]?) -> String? { userInfo.flatMap { UserInfo.json($0) } }

@MainActor private final class FetchingDelegate: ApplicationDelegate {
    let heard = Watched<[String]>([])
    var launchedFor: String?
    var userInfos: [[AnyHashable: Any]] = []
    var handlers: [(BackgroundFetchResult) -> Void] = []
    private let holds: Bool

    nonisolated init() {
        holds = false
    }

    nonisolated init(holds: Bool) {
        self.holds = holds
    }

    func application(
        _ application: Application, didFinishLaunchingWithOptions launchOptions: [Application.LaunchOptionsKey: Any]?
    ) -> Bool {
        launchedFor = text(launchOptions?[.remoteNotification] as? [AnyHashable: Any])
        heard.update { $0.append("launched") }
        return true
    }

    func application(_ application: Application, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data) {
        heard.update { $0.append("token " + deviceToken.map { String(format: "%02x", $0) }.joined()) }
    }

    func application(_ application: Application, didFailToRegisterForRemoteNotificationsWithError error: any Error) {
        let error = error as NSError
        heard.update { $0.append("\(error.domain) \(error.code) \(error.localizedDescription)") }
    }

    func application(
        _ application: Application, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
        fetchCompletionHandler completionHandler: @escaping (BackgroundFetchResult) -> Void
    ) {
        dispatchPrecondition(condition: .onQueue(.main))
        userInfos.append(userInfo)
        if holds { handlers.append(completionHandler) } else { completionHandler(.newData) }
        heard.update { $0.append("received \(text(userInfo) ?? "nothing")") }
    }
}

@MainActor private final class WaitingDelegate: ApplicationDelegate {
    nonisolated init() {}

    func application(
        _ application: Application, didReceiveRemoteNotification userInfo: [AnyHashable: Any]
    ) async -> BackgroundFetchResult {
        await Task.yield()
        return .newData
    }
}

@MainActor private final class OldDelegate: ApplicationDelegate {
    var heard: [String] = []

    nonisolated init() {}

    func application(_ application: Application, didReceiveRemoteNotification userInfo: [AnyHashable: Any]) {
        heard.append(text(userInfo) ?? "nothing")
    }
}

private final class DeafDelegate: ApplicationDelegate {}
