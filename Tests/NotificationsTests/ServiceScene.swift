import Clock
import Device
import Foundation
import Logging
import NightshiftAPI
import Notifications
import Store
import TestSupport

/// A notification service on a private bus with a store in memory.
final class ServiceScene: Sendable {
    static let app = AppID(rawValue: "org.example.app")

    let bus: PrivateBus
    let store: Store
    let service: NotificationService
    /// The apps that were brought to the foreground, and the notifications that were reported as shown.
    let activated = Watched<[AppID]>([])
    let shown = Watched<[String]>([])
    /// The other reported states of providers' notifications.
    let states = Watched<[AlertState]>([])
    private let running: Task<Void, Never>

    /// - Parameter store: the store of a previous service, which has ended.
    init(
        on bus: PrivateBus, store: Store? = nil, answer: PresentationAnswer = .notInFront,
        clock: any ServiceClock = SystemClock()
    ) async throws {
        self.bus = bus
        let store = try store ?? Store(inMemory: clock.now())
        self.store = store
        let (activated, shown, states) = (activated, shown, states)
        let service = NotificationService(
            NotificationService.Environment(
                store: store, clock: clock,
                desktop: DesktopNotifications(environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address]),
                present: { _, _ in answer }, activate: { app in activated.update { $0.append(app) } },
                entry: { NotificationService.Entry(name: "App of \($0)", icon: "app-icon") },
                became: { _, identifier, state, _ in
                    if state != .shown { return states.update { $0.append(state) } }
                    shown.update { $0.append(identifier) }
                },
                logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })))
        self.service = service
        try await service.prepare()
        running = Task { await service.run() }
    }

    func end() async {
        await service.stop()
        await running.value
    }

    static func notification(_ identifier: String, title: String = "Title") -> AppNotification {
        var notification = AppNotification(identifier: identifier, date: Date(timeIntervalSince1970: 5))
        notification.title = title
        return notification
    }

    func waitForServer() async throws {
        try await eventually("the notification server") {
            await service.processNotifications(of: Self.app).canShow
        }
    }

    func waitForShown(_ identifiers: [String]) async throws {
        try await shown.wait(for: "\(identifiers) on the screen") { $0 == identifiers }
    }

    func wakes() async throws -> [WantedWake] { try await store.read { try $0.wantedWakes() } }
}
