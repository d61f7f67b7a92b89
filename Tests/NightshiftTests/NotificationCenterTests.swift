import Foundation
import Nightshift
import NightshiftAPI
import TestSupport
import Testing

/// Tests of the app's own notifications, its permission, and its lists of notifications, under Apple's names (row R3).
@Suite struct NotificationCenterTests {
    private func center(_ world: World) -> UNUserNotificationCenter {
        UNUserNotificationCenter(connection: world.process().connection)
    }

    private func content(_ body: String = "Body") -> UNMutableNotificationContent {
        let content = UNMutableNotificationContent()
        content.body = body
        return content
    }

    private func notification(_ identifier: String, isRemote: Bool = false) -> AppNotification {
        var notification = AppNotification(identifier: identifier, date: Date(timeIntervalSince1970: 1_800_000_000))
        notification.isRemote = isRemote
        return notification
    }

    private func code(_ error: (any Error)?) -> Int? { (error as? UNError)?.code.rawValue }

    // MARK: - Permission

    @Test(arguments: [(NotificationPermission.allowed, true), (.denied, false), (.ask, false)])
    func `R3: A permission request returns the user's answer, and does not throw after a refusal`(
        _ word: NotificationPermission, _ isGranted: Bool
    )
        async throws
    {
        let world = try World()
        world.service.state.update { $0.push.word = word }
        let center = center(world)
        #expect(try await center.requestAuthorization(options: [.alert, .badge, .sound]) == isGranted)
        let heard = Watched<Bool?>(nil)
        center.requestAuthorization(options: [.alert]) { granted, error in
            if error == nil { heard.update { $0 = granted } }
        }
        try await heard.wait(for: "the closure") { $0 == isGranted }
        #expect(world.service.state.read { $0.push.questions } == [false, false])
    }

    @Test func `R3: Provisional permission does not need the user's answer`() async throws {
        let world = try World()
        let center = center(world)
        #expect(try await center.requestAuthorization(options: [.alert, .provisional]))
        #expect(world.service.state.read { $0.push.questions } == [true])
        #expect(await center.notificationSettings().authorizationStatus == .provisional)
    }

    @Test func `R3: A permission request waits for the service and can throw the service's reason`()
        async throws
    {
        let world = try World()
        world.service.stop()
        let center = center(world)
        let heard = Watched<Bool?>(nil)
        center.requestAuthorization { granted, _ in heard.update { $0 = granted } }
        // The permission is not known meanwhile, and other calls are not blocked.
        #expect(await center.notificationSettings().authorizationStatus == .notDetermined)
        #expect(heard.read { $0 } == nil)
        try world.service.start()
        try await heard.wait(for: "the answer") { $0 == true }
        world.service.state.update {
            $0.refusals["POST /v1/process/notification-authorization"] = .forbidden("It has no entry.")
        }
        let error = await #expect(throws: UNError.self) { try await center.requestAuthorization() }
        #expect(code(error) == 1 && error?.localizedDescription == "It has no entry.")
    }

    @Test(
        arguments: [
            (.ask, true, [0, 1, 1, 1, 1, 0]), (.denied, true, [1, 1, 1, 1, 1, 0]),
            (.allowed, true, [2, 2, 2, 2, 2, 0]), (.provisional, true, [3, 1, 1, 1, 2, 0]),
            (.allowed, false, [2, 0, 0, 0, 0, 0]),
        ] as [(NotificationPermission, Bool, [Int])])
    func `R3: Settings combine the user's permission with what the desktop supports`(
        _ permission: NotificationPermission, _ canShow: Bool, _ expected: [Int]
    ) async throws {
        let world = try World()
        world.service.state.update {
            $0.push.notifications = ProcessNotifications(permission: permission, canShow: canShow)
        }
        let heard = Watched<[Int]?>(nil)
        center(world).getNotificationSettings { settings in
            let values = [
                settings.authorizationStatus.rawValue, settings.alertSetting.rawValue, settings.badgeSetting.rawValue,
                settings.soundSetting.rawValue, settings.notificationCenterSetting.rawValue,
                settings.lockScreenSetting.rawValue,
            ]
            heard.update { $0 = values }
        }
        try await heard.wait(for: "the settings") { $0 == expected }
    }

    @Test func `R3: Settings wait for a slow service instead of reporting an undetermined state`() async throws {
        let world = try World()
        world.service.state.update { $0.push.notifications = ProcessNotifications(permission: .allowed, canShow: true) }
        let attempts = world.service.isTooSlow(for: "GET /v1/process/notifications")
        let center = center(world)
        async let settings = center.notificationSettings()
        try await attempts()
        world.service.state.update { $0.refusals = [:] }
        #expect(await settings.authorizationStatus == .authorized)
    }

    // MARK: - The app's own notifications

    @Test func `R3: The library sends all properties of a notification to the service`() async throws {
        let world = try World()
        let content = content()
        content.title = "Title"
        content.subtitle = "Subtitle"
        content.threadIdentifier = "thread"
        content.categoryIdentifier = "message"
        content.badge = 4
        content.sound = .default
        content.userInfo = ["id": 7, "list": ["a", NSNull()]]
        content.interruptionLevel = .timeSensitive
        let request = UNNotificationRequest(identifier: "one", content: content, trigger: nil)
        // The request has a copy of the content.
        content.title = "Another"
        try await center(world).add(request)
        let sent = try #require(world.service.state.read { $0.push.added.first })
        var expected = AppNotification(identifier: "one", date: sent.notification.date)
        expected.title = "Title"
        expected.subtitle = "Subtitle"
        expected.body = "Body"
        expected.thread = "thread"
        expected.category = "message"
        expected.badge = 4
        expected.sound = "default"
        expected.userInfo = #"{"id":7,"list":["a",null]}"#
        expected.level = .timeSensitive
        #expect(sent == NotificationRequest(notification: expected))
    }

    @Test func `R3: A trigger's interval begins when the app adds the notification`()
        async throws
    {
        let world = try World()
        world.service.stop()
        let center = center(world)
        let trigger = UNTimeIntervalNotificationTrigger(timeInterval: 3_600, repeats: false)
        let heard = Watched<[Int?]>([])
        center.add(UNNotificationRequest(identifier: "once", content: content(), trigger: trigger)) { error in
            heard.update { $0.append((error as? UNError)?.code.rawValue) }
        }
        center.add(
            UNNotificationRequest(
                identifier: "often", content: content(),
                trigger: UNTimeIntervalNotificationTrigger(timeInterval: 60, repeats: true)),
            withCompletionHandler: nil)
        #expect(await center.pendingNotificationRequests().isEmpty)
        #expect(heard.read { $0 } == [])
        try world.service.start()
        try await heard.wait(for: "its completion") { $0 == [nil] }
        try await world.service.state.wait(for: "both") { $0.push.added.count == 2 }
        let added = world.service.state.read { $0.push.added }
        let once = try #require(added.first?.delay)
        #expect(once < 3_600 && once > 3_000 && added.first?.repeats == false)
        #expect(added.last?.delay == 60 && added.last?.repeats == true)
        let pending = await center.pendingNotificationRequests()
        #expect(pending.map(\.identifier) == ["once", "often"])
        #expect(pending.map { $0.trigger?.repeats } == [false, true])
        #expect((pending.last?.trigger as? UNTimeIntervalNotificationTrigger)?.timeInterval == 60)
    }

    @Test func `R3: A refused notification throws an error and does not prevent later notifications`() async throws {
        let world = try World()
        let center = center(world)
        let post = "POST /v1/process/notifications"
        world.service.state.update { $0.refusals[post] = .forbidden("The user does not allow it.") }
        let request = UNNotificationRequest(identifier: "one", content: content(), trigger: nil)
        let refusal = await #expect(throws: UNError.self) { try await center.add(request) }
        #expect(code(refusal) == 1 && refusal?.localizedDescription == "The user does not allow it.")
        world.service.state.update { $0.refusals[post] = .invalid("The title is too long.") }
        let invalid = await #expect(throws: UNError.self) { try await center.add(request) }
        #expect(code(invalid) == 1_401)
        world.service.state.update { $0.refusals[post] = nil }
        let content = content()
        content.userInfo = ["url": URL(filePath: "/")]
        let unspeakable = UNNotificationRequest(identifier: "two", content: content, trigger: nil)
        let error = await #expect(throws: UNError.self) { try await center.add(unspeakable) }
        #expect(code(error) == 1_401)
        try await center.add(request)
        #expect(world.service.state.read { $0.push.added.map(\.notification.identifier) } == ["one"])
    }

    @Test(arguments: [.infinity, 1e300] as [TimeInterval], [false, true])
    func `R3: The service accepts a notification whose trigger never fires`(
        _ interval: TimeInterval, _ repeats: Bool
    ) async throws {
        let world = try World()
        let trigger = UNTimeIntervalNotificationTrigger(timeInterval: interval, repeats: repeats)
        try await center(world).add(
            UNNotificationRequest(identifier: "one", content: content(), trigger: trigger))
        #expect(world.service.state.read { $0.push.added.map(\.delay) } == [Limits.longestTimeout])
    }

    @Test func `R3: A trigger for which Apple's systems raise an exception ends the process`() async {
        await #expect(processExitsWith: .failure) {
            _ = UNTimeIntervalNotificationTrigger(timeInterval: 0, repeats: false)
        }
        await #expect(processExitsWith: .failure) {
            _ = UNTimeIntervalNotificationTrigger(timeInterval: 59, repeats: true)
        }
    }

    // MARK: - Lists

    @Test func `R3: An app lists and removes delivered and pending notifications separately`() async throws {
        let world = try World()
        var shown = notification("remote", isRemote: true)
        shown.userInfo = #"{"aps":{"alert":"x"}}"#
        shown.sound = "bell"
        shown.badge = 2
        world.service.state.update { [shown] state in
            state.push.notifications.delivered = ["a", "b", "both"].map { notification($0) } + [shown]
            state.push.notifications.pending = ["c", "d", "both"].map {
                NotificationRequest(notification: notification($0), delay: 60, repeats: true)
            }
        }
        let center = center(world)
        let delivered = await center.deliveredNotifications()
        #expect(delivered.map(\.request.identifier) == ["a", "b", "both", "remote"])
        let remote = try #require(delivered.last)
        #expect(remote.date == Date(timeIntervalSince1970: 1_800_000_000))
        #expect(remote.request.trigger is UNPushNotificationTrigger && delivered.first?.request.trigger == nil)
        #expect((remote.request.content.userInfo["aps"] as? [String: String]) == ["alert": "x"])
        #expect(remote.request.content.sound == UNNotificationSound(named: UNNotificationSoundName("bell")))
        #expect(remote.request.content.badge == 2)
        center.removeDeliveredNotifications(withIdentifiers: ["a", "c", "both", "nobody"])
        // The service executes calls in order.
        #expect(await center.deliveredNotifications().map(\.request.identifier) == ["b", "both", "remote"])
        #expect(await center.pendingNotificationRequests().map(\.identifier) == ["c", "d", "both"])
        center.removePendingNotificationRequests(withIdentifiers: ["d", "b"])
        center.removeAllDeliveredNotifications()
        #expect(await center.pendingNotificationRequests().map(\.identifier) == ["c", "both"])
        #expect(world.service.state.read { $0.push.removed } == ["a", "d", "b", "remote"])
        center.removeAllPendingNotificationRequests()
        #expect(await center.pendingNotificationRequests().isEmpty)
        #expect(await center.deliveredNotifications().isEmpty)
    }

    /// The service is busy for longer than the library needs to retry a change twice, which takes a minute. With pauses
    /// of up to half a second, that is fewer attempts than this number.
    @Test func `R3: A list of notifications includes earlier additions, even if the service is slow`() async throws {
        let world = try World()
        let (add, list) = ("POST /v1/process/notifications", "GET /v1/process/notifications")
        world.service.state.update { $0.refusals[add] = .unavailable("It is busy.") }
        let center = center(world)
        let request = UNNotificationRequest(identifier: "one", content: content(), trigger: nil)
        center.add(request, withCompletionHandler: nil)
        async let listed = center.deliveredNotifications().map(\.request.identifier)
        try await world.service.state.wait(within: .seconds(180), for: "attempts") { state in
            state.log.contains(list) || state.log.count { $0 == add } > 140
        }
        #expect(world.service.state.read { !$0.log.contains(list) })
        world.service.state.update { $0.refusals = [:] }
        #expect(await listed == ["one"])
    }

    @Test func `R3: When the service is back, the library sends removals made without the service`() async throws {
        let world = try World()
        world.service.state.update { state in state.push.notifications.delivered = [notification("a")] }
        world.service.stop()
        let center = center(world)
        center.removeAllDeliveredNotifications()
        #expect(await center.deliveredNotifications().isEmpty)
        try world.service.start()
        try await world.service.state.wait(for: "the removal") { $0.push.removed == ["a"] }
    }

    // MARK: - Categories and the badge

    @Test func `R3: The library sends categories with their actions`() async throws {
        let world = try World()
        let center = center(world)
        let reply = UNNotificationAction(identifier: "reply", title: "Reply", options: [.foreground])
        let later = UNNotificationAction(identifier: "later", title: "Later")
        let message = UNNotificationCategory(
            identifier: "message", actions: [reply, later], intentIdentifiers: [], options: .customDismissAction)
        let plain = UNNotificationCategory(identifier: "a", actions: [], intentIdentifiers: [])
        center.setNotificationCategories([message, plain])
        try await world.service.state.wait(for: "them") { state in
            state.push.categories == [
                NotificationCategories.Category(identifier: "a", actions: [], tellsOfDismissal: false),
                NotificationCategories.Category(
                    identifier: "message",
                    actions: [
                        AppNotification.Action(identifier: "reply", title: "Reply", isForeground: true),
                        AppNotification.Action(identifier: "later", title: "Later", isForeground: false),
                    ], tellsOfDismissal: true),
            ]
        }
        #expect(await center.notificationCategories() == [plain, message])
        let equal = UNNotificationCategory(identifier: "a", actions: [], intentIdentifiers: [])
        #expect(equal == plain && equal != message)
    }

    @Test func `R3: The library sends the badge, and refuses a negative badge`() async throws {
        let world = try World()
        let center = center(world)
        try await center.setBadgeCount(3)
        #expect(world.service.state.read { $0.push.badges } == [3])
        let error = await #expect(throws: UNError.self) { try await center.setBadgeCount(-1) }
        #expect(code(error) == 1_600)
        center.setBadgeCount(0, withCompletionHandler: nil)
        try await world.service.state.wait(for: "the badge") { $0.push.badges == [3, 0] }
    }

    // MARK: - Values

    @Test func `R3: The enumerations have the same raw values as Apple's`() {
        let authorization: [UNAuthorizationOptions] = [.badge, .sound, .alert, .provisional]
        #expect(authorization.map(\.rawValue) == [1, 2, 4, 64])
        let presentation: [UNNotificationPresentationOptions] = [.badge, .sound, .alert, .list, .banner]
        #expect(presentation.map(\.rawValue) == [1, 2, 4, 8, 16])
        let actions: [UNNotificationActionOptions] = [.authenticationRequired, .destructive, .foreground]
        #expect(actions.map(\.rawValue) == [1, 2, 4])
        #expect(UNNotificationCategoryOptions.customDismissAction.rawValue == 1)
        let statuses: [UNAuthorizationStatus] = [.notDetermined, .denied, .authorized, .provisional, .ephemeral]
        #expect(statuses.map(\.rawValue) == [0, 1, 2, 3, 4])
        #expect([UNNotificationSetting.notSupported, .disabled, .enabled].map(\.rawValue) == [0, 1, 2])
        let levels: [UNNotificationInterruptionLevel] = [.passive, .active, .timeSensitive, .critical]
        #expect(levels.map(\.rawValue) == [0, 1, 2, 3])
        #expect(UNNotificationDefaultActionIdentifier == NotificationResponse.opened)
        #expect(UNNotificationDismissActionIdentifier == NotificationResponse.dismissed)
        let codes: [UNError.Code] = [
            .notificationsNotAllowed, .notificationInvalidNoDate, .notificationInvalidNoContent, .badgeInputInvalid,
        ]
        #expect(codes.map(\.rawValue) == [1, 1_400, 1_401, 1_600])
        let error = UNError(.notificationsNotAllowed) as NSError
        #expect(error.domain == "UNErrorDomain" && error.code == 1 && UNErrorDomain == "UNErrorDomain")
        let key = Application.LaunchOptionsKey.remoteNotification.rawValue
        #expect(key == "UIApplicationLaunchOptionsRemoteNotificationKey")
    }

    @Test func `R3: A content can be copied as mutable or immutable content`() throws {
        let content = content("Old")
        content.userInfo = ["a": 1]
        let copy = try #require(content.copy() as? UNNotificationContent)
        let mutable = try #require(copy.mutableCopy() as? UNMutableNotificationContent)
        content.body = "New"
        mutable.body = "Third"
        mutable.badge = 0
        #expect(copy.body == "Old" && mutable.body == "Third" && content.body == "New")
        #expect(!(copy is UNMutableNotificationContent))
        #expect(copy.badge == nil && mutable.badge == 0 && mutable.userInfo["a"] as? Int == 1)
        #expect(copy.interruptionLevel == .active && copy.sound == nil)
    }

    @Test func `R3: A process has one notification center`() {
        #expect(UNUserNotificationCenter.current() === UNUserNotificationCenter.current())
    }
}
