package import Clock
package import Device
package import Foundation
package import Logging
package import NightshiftAPI
package import Runtime
package import Store

/// The notifications of apps. The desktop's notification server shows them, and the user responds to them. While there
/// is no server, they are kept.
///
/// One ``NotificationState`` makes the decisions; this actor executes them. When a method returns, its effects are on
/// disk. When it throws, nothing has changed. Methods that people and apps call throw only ``Problem``. See
/// `docs/decisions/0045`.
package actor NotificationService: PartService {
    /// The store, clock and other dependencies of the service.
    package struct Environment: Sendable {
        package var store: Store
        package var clock: any ServiceClock
        package var desktop: DesktopNotifications
        /// Asks an app that may be in the foreground how to present a notification.
        package var present: @Sendable (AppID, AppNotification) async -> PresentationAnswer
        /// Brings an app to the foreground, and launches it if it is not running.
        package var activate: @Sendable (AppID) async -> Void
        /// Returns the name of an app and the icon of its entry; nil if the app was removed.
        package var entry: @Sendable (AppID) async -> Entry?
        /// A callback for each new state of a notification, with the notification's identifier.
        package var became: @Sendable (AppID, String, AlertState, Date) async -> Void
        /// A callback that runs when the user has allowed or denied notifications of an app.
        package var permissionChanged: @Sendable (AppID) async -> Void
        package var logger: Logger

        package init(
            store: Store, clock: any ServiceClock, desktop: DesktopNotifications,
            present: @escaping @Sendable (AppID, AppNotification) async -> PresentationAnswer,
            activate: @escaping @Sendable (AppID) async -> Void,
            entry: @escaping @Sendable (AppID) async -> Entry?,
            became: @escaping @Sendable (AppID, String, AlertState, Date) async -> Void = { _, _, _, _ in },
            permissionChanged: @escaping @Sendable (AppID) async -> Void = { _ in }, logger: Logger
        ) {
            self.store = store
            self.clock = clock
            self.desktop = desktop
            self.present = present
            self.activate = activate
            self.entry = entry
            self.became = became
            self.permissionChanged = permissionChanged
            self.logger = logger
        }
    }

    package struct Entry: Hashable, Sendable {
        package var name: String
        package var icon: String?

        package init(name: String, icon: String?) {
            self.name = name
            self.icon = icon
        }
    }

    nonisolated let environment: Environment
    package let part: Part<NotificationState>
    package var alarm = Alarm()
    /// The time of the next attempt to read rows that other features have written, in boot seconds; nil if there are no
    /// unread rows.
    private var readAgain: Double?
    /// The seconds before that attempt. The cause of a failure needs time to go away.
    private static let readingPause = 60.0
    /// The callers that wait for the answer to a question.
    private var askers: [Int64: [CheckedContinuation<String?, Never>]] = [:]
    nonisolated private let companions = Mailbox<NotificationService>()

    package init(_ environment: Environment) {
        self.environment = environment
        part = Part(
            NotificationState(), store: environment.store, clock: environment.clock,
            closed: "The notification service is not running.", logger: environment.logger
        ) { environment.clock.now().wallSeconds }
    }

    package nonisolated var clock: any ServiceClock { environment.clock }
    package var furtherDecision: Double? { readAgain }

    // MARK: - Start and stop

    /// Restores the stored state of the previous run of the service.
    ///
    /// - Throws: ``StoreError`` if the stored state cannot be read.
    package func prepare() async throws(StoreError) {
        guard part.isNew else { return }
        let rows = try await environment.store.read { try $0.notifications(NotificationAppRecord.self) }
        for what in rows.unreadable {
            environment.logger.error("A row cannot be read", metadata: ["row": "\(what)"])
        }
        var state = state
        state.load(rows)
        await part.open(state, hooks)
    }

    /// Shows notifications until ``stop()``.
    package func run() async {
        environment.desktop.start()
        await look()
        await companions.run(by: self, beside: [{ await $0.followDesktop() }, { await $0.followClock() }])
    }

    package func stop() async {
        guard !part.isClosed else { return }
        // The questions are closed now, because the service will not receive their answers.
        await tell { state, _ in state.withdrawAll() }
        part.close()
        alarm.cancel()
        for waiter in askers.values.joined() { waiter.resume(returning: nil) }
        askers = [:]
        environment.desktop.shutdown()
        companions.finish()
        await part.settled()
    }

    private func followDesktop() async {
        for await event in environment.desktop.events {
            if case .refused(_, _, let detail) = event {
                environment.logger.info(
                    "The notification server refused a notification", metadata: ["detail": "\(detail)"])
            }
            await tell { $0.apply(event, now: $1) }
        }
    }

    // MARK: - Steps

    /// Reads unread rows again when their time has come.
    package func decided() {
        guard let time = readAgain, time <= clock.now().bootSeconds else { return }
        readAgain = nil
        companions.yield { await $0.wake() }
    }

    package func perform(_ effect: NotificationEffect) async {
        switch effect {
        case .present(let token, let app, let notification):
            // This runs in the background, because the app may take time to answer.
            companions.yield { await $0.present(token, app, notification) }
        case .show(let token, let app): await show(token, app)
        case .close(let place): environment.desktop.close(place.number, server: place.server)
        case .badge(let app, let count): environment.desktop.setBadge(count, of: app.rawValue)
        case .startServer: environment.desktop.startServer()
        // This runs in the background, because launching takes time.
        case .activate(let app): companions.yield { await $0.environment.activate(app) }
        case .answer(let question, let key):
            for asker in askers.removeValue(forKey: question) ?? [] { asker.resume(returning: key) }
        case .became(let app, let identifier, let state, let date):
            companions.yield { await $0.environment.became(app, identifier, state, date) }
        // This runs in the background, because the user may take time to answer.
        case .askPermission(let app): companions.yield { await $0.askPermission(for: app) }
        case .permissionChanged(let app): companions.yield { await $0.environment.permissionChanged(app) }
        }
    }

    private func present(_ token: Int64, _ app: AppID, _ notification: AppNotification) async {
        let answer = await environment.present(app, notification)
        await tell { $0.presented(token, answer, now: $1) }
    }

    private func show(_ token: Int64, _ app: AppID) async {
        guard let entry = await environment.entry(app) else {
            companions.yield { await $0.tell { $0.cannotShow(token, now: $1) } }
            return
        }
        guard let draft = state.draft(of: token, name: entry.name, icon: entry.icon) else { return }
        environment.desktop.show(draft, token: token)
    }

    // MARK: - Events

    /// Reads notifications that other features have written or unblocked in separate transactions.
    package func wake() async {
        readAgain = nil
        guard part.isOpen else { return }
        let step = await part.reload(
            { try $0.notifications(NotificationAppRecord.self) }, { state, rows, _ in state.load(rows) }, hooks)
        for effect in step.effects { await perform(effect) }
        guard part.isOpen, !step.isWritten else { return }
        readAgain = clock.now().bootSeconds + Self.readingPause
        setAlarm()
    }

    package func receive(_ event: AppEvent, of app: AppID) async {
        guard event == .installed(nil) else { return }
        await tell { state, _ in state.forget(app) }
    }

    // MARK: - Requests of people and apps

    package func permission(of app: AppID) -> NotificationPermission { state.permission(of: app) }

    /// Sets the user's permission for an app.
    package func setPermission(_ permission: NotificationPermission, of app: AppID) async throws(Problem) {
        try await ask { (state, now) throws(Problem) in
            state.setPermission(permission, of: app, now: now)
            state.withdraw(Self.purpose, of: app)
        }
    }

    /// Asks the user whether to show notifications of the app, unless the user has already decided. Returns when there
    /// is a decision.
    package func requestAuthorization(isProvisional: Bool, for app: AppID) async throws(Problem) -> Bool {
        if isProvisional {
            return try await ask { (state, now) throws(Problem) in
                if state.permission(of: app) == .ask { state.setPermission(.provisional, of: app, now: now) }
                return state.permission(of: app).shows
            }
        }
        let name = await environment.entry(app)?.name ?? app.rawValue
        let choice = await ask(
            NotificationQuestion(
                app: app, purpose: Self.purpose, title: "Notifications of \(name)",
                body: "\(name) would like to show notifications.",
                choices: [
                    NotificationQuestion.Choice(key: "allow", title: "Allow"),
                    NotificationQuestion.Choice(key: "deny", title: "Don’t Allow"),
                ])
        ) { !$0.permission(of: app).isDecided }
        // The user has not answered, or has set the permission in another way.
        guard let choice else { return state.permission(of: app).shows }
        return try await ask { (state, now) throws(Problem) in
            // If the user has set the permission in the meantime, that setting takes precedence.
            if !state.permission(of: app).isDecided {
                state.setPermission(choice == "allow" ? .allowed : .denied, of: app, now: now)
            }
            return state.permission(of: app).shows
        }
    }

    /// Asks the user for permission, because alerts of the app wait for it.
    private func askPermission(for app: AppID) async {
        do throws(Problem) {
            _ = try await requestAuthorization(isProvisional: false, for: app)
        } catch {
            environment.logger.error("An answer could not be stored", metadata: ["app": "\(app)", "error": "\(error)"])
        }
    }

    /// Asks the user a question about an app, and returns when the user has answered. The question may move to another
    /// notification server before that.
    ///
    /// Per app and purpose, only one question is shown at a time. Further callers get the same answer.
    ///
    /// - Returns: the key of the choice; nil if the user closed the question or the service stops.
    package func ask(
        app: AppID, purpose: String, title: String, body: String, choices: [NotificationQuestion.Choice]
    ) async -> String? {
        await ask(NotificationQuestion(app: app, purpose: purpose, title: title, body: body, choices: choices)) { _ in
            true
        }
    }

    /// Adds a question, and returns when it is answered.
    ///
    /// - Parameter isWanted: returns whether the question is still needed when its turn comes.
    private func ask(_ question: NotificationQuestion, where isWanted: (NotificationState) -> Bool) async -> String? {
        guard part.isOpen, let number = await part.note({ isWanted($0) ? $0.ask(question) : nil }), part.isOpen else {
            return nil
        }
        return await withCheckedContinuation { continuation in
            askers[number, default: []].append(continuation)
            companions.yield { await $0.look() }
        }
    }

    package func add(_ request: NotificationRequest, for app: AppID) async throws(Problem) {
        try await ask { (state, now) throws(Problem) in try state.add(request, for: app, now: now) }
    }

    /// Removes notifications of the app with the given identifiers. If `identifiers` is nil, removes all of them.
    ///
    /// - Parameter isShown: true to remove only shown ones, false to remove only waiting ones, nil to remove both.
    package func remove(_ identifiers: [String]?, of app: AppID, isShown: Bool? = nil) async throws(Problem) {
        // This reads notifications that were written since the last read, so that they are also removed.
        await wake()
        try await ask { (state, _) throws(Problem) in state.remove(identifiers, of: app, isShown: isShown) }
    }

    package func setCategories(_ categories: NotificationCategories, for app: AppID) async throws(Problem) {
        try await ask { (state, _) throws(Problem) in try state.set(categories, for: app) }
    }

    package func setBadge(_ count: Int, for app: AppID) async throws(Problem) {
        try await ask { (state, _) throws(Problem) in try state.setBadge(count, of: app) }
    }

    package func processNotifications(of app: AppID) async -> ProcessNotifications {
        await part.written(hooks)
        return state.notifications(of: app)
    }

    private static let purpose = "notifications"
}
