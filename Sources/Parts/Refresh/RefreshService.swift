package import Clock
package import Foundation
package import Logging
package import NightshiftAPI
package import Runtime
import Scheduler
package import Store

/// The background refresh of apps. This actor decides which apps are woken for new content, and when. It implements all
/// refresh operations of the local API.
///
/// One ``RefreshState`` makes the decisions; this actor executes them. When a method returns, its effects are on disk.
/// When it throws, nothing has changed. Methods that people and apps call throw only ``Problem``. See
/// `docs/decisions/0037`.
package actor RefreshService: PartService {
    /// The store, clock and other dependencies of the service.
    package struct Environment: Sendable {
        package var store: Store
        package var clock: any ServiceClock
        /// Returns the offset of local time from UTC at a time, in seconds.
        package var offset: @Sendable (Date) -> Int
        /// Sends an app the expiration of one of its wakes.
        package var expire: @Sendable (AppID, WakeSource, String) async -> Void
        /// Sends the availability of background refresh to the processes of an app.
        package var availabilityChanged: @Sendable (AppID, RefreshAvailability) async -> Void
        /// Returns the manifests of apps that declare background work or are otherwise known; nil if the app service
        /// has stopped.
        package var manifests: @Sendable () async -> [AppManifest]?
        package var logger: Logger

        package init(
            store: Store, clock: any ServiceClock,
            offset: @escaping @Sendable (Date) -> Int = { TimeZone.autoupdatingCurrent.secondsFromGMT(for: $0) },
            expire: @escaping @Sendable (AppID, WakeSource, String) async -> Void = { _, _, _ in },
            availabilityChanged: @escaping @Sendable (AppID, RefreshAvailability) async -> Void = { _, _ in },
            manifests: @escaping @Sendable () async -> [AppManifest]? = { [] }, logger: Logger
        ) {
            self.store = store
            self.clock = clock
            self.offset = offset
            self.expire = expire
            self.availabilityChanged = availabilityChanged
            self.manifests = manifests
            self.logger = logger
        }

        fileprivate var now: LocalMoment {
            let reading = clock.now()
            return LocalMoment(seconds: reading.wallSeconds, offset: offset(reading.date))
        }
    }

    nonisolated let environment: Environment
    package let part: Part<RefreshState>
    private let entries: EntryReading
    package var alarm = Alarm()
    private let companions = Mailbox<RefreshService>()

    package init(_ environment: Environment) {
        self.environment = environment
        entries = EntryReading(environment.manifests)
        let state = RefreshState(now: LocalMoment(seconds: environment.clock.now().wallSeconds))
        part = Part(
            state, store: environment.store, clock: environment.clock, closed: "Background refresh is not running.",
            logger: environment.logger
        ) { environment.now }
    }

    package nonisolated var clock: any ServiceClock { environment.clock }
    private nonisolated var now: LocalMoment { environment.now }

    // MARK: - Start and stop

    /// Restores the stored state of the previous run of the service. Callers must call this after the apps are prepared
    /// and before they run.
    ///
    /// - Throws: ``StoreError`` if the stored state cannot be read.
    package func prepare() async throws(StoreError) {
        guard part.isNew else { return }
        let manifests = await environment.manifests() ?? []
        let (rows, wakes, ends, seenBefore) = try await environment.store.read { transaction in
            (
                try transaction.refresh(RefreshRecord.self, DeviceRefreshRecord.self),
                try transaction.wantedWakes().filter { Self.sources.contains($0.source) },
                try Self.ends(transaction), try transaction.secondsSeenBefore()
            )
        }
        for what in rows.unreadable {
            environment.logger.error("A row cannot be read", metadata: ["row": "\(what)"])
        }
        let seen = seenBefore + clock.now().bootSeconds
        await part.open(RefreshState(rows, now: now), hooks) { state, earlier, now in
            state.apply(earlier.moment, now: now)
            state.begin(manifests, ends: ends, wakes: wakes, seen: seen, unreadable: rows.unreadable, now: now)
        }
    }

    /// Runs background refresh until ``stop()``.
    package func run() async {
        await look()
        await companions.run(by: self, beside: [{ await $0.followClock() }])
    }

    package func stop() async {
        guard !part.isClosed else { return }
        part.close()
        alarm.cancel()
        companions.finish()
        await part.settled()
    }

    package func perform(_ effect: RefreshEffect) async {
        switch effect {
        case .expire(let app, let source, let key): await environment.expire(app, source, key)
        // This sends the current value. The notices of two changes could otherwise arrive in the wrong order.
        case .availability(let app): await environment.availabilityChanged(app, state.availability(of: app))
        }
    }

    /// The sources whose wakes belong to background refresh.
    static let sources: Set<WakeSource> = [.fetch, .processing, .continued]

    private static func ends(_ transaction: StoreTransaction) throws -> [RefreshEnd] {
        try transaction.wakeEnds(of: sources).map {
            RefreshEnd(row: $0, bytes: $0.source == .fetch ? try transaction.bytesSinceFetchBegan(of: $0.app) : 0)
        }
    }

    // MARK: - Events

    package func apply(_ moment: DeviceState) async {
        guard !part.isNew else { return await part.note { [now] in $0.apply(moment, now: now) } }
        await tell { $0.apply(moment, now: $1) }
    }

    package func receive(_ event: AppEvent, of app: AppID) async {
        switch event {
        case .use(let isInFront):
            await hear(of: app)
            await tell { $0.use(app, isInFront: isInFront, now: $1) }
        case .forceQuit:
            await hear(of: app)
            await tell { $0.forceQuit(app, now: $1) }
        case .launched: await tell { state, _ in state.launched(app) }
        case .installed(let manifest):
            entries.told()
            await tell { $0.installed(app, manifest, now: $1) }
        case .wakesEnded: await wakesEnded()
        case .suspended: break
        }
    }

    /// Handles the new ends of wakes that are on disk.
    private func wakesEnded() async {
        guard part.isOpen else { return }
        do throws(StoreError) {
            let ends = try await environment.store.read { try Self.ends($0) }
            guard !ends.isEmpty else { return }
            await tell { $0.take(ends, now: $1) }
        } catch {
            environment.logger.error("The store cannot be read", metadata: ["error": "\(error)"])
        }
    }

    // MARK: - Requests of people

    package func status() async throws(Problem) -> RefreshStatus {
        try await readEntries()
        await part.written(hooks)
        return state.status(now)
    }

    package func status(of app: AppID) async throws(Problem) -> AppRefreshStatus {
        try await readEntries(for: app)
        await part.written(hooks)
        return try known(app)
    }

    package func change(_ change: RefreshChange) async throws(Problem) -> RefreshStatus {
        try await ask { (state, now) throws(Problem) in try state.change(change, now: now) }
        return state.status(now)
    }

    package func change(_ app: AppID, _ change: AppRefreshChange) async throws(Problem) -> AppRefreshStatus {
        try await readEntries(for: app)
        try await ask { (state, now) throws(Problem) in try state.change(app, change, now: now) }
        return try known(app)
    }

    /// Deletes the learned use of an app; if `app` is nil, of all apps and the device.
    package func forget(_ app: AppID?) async throws(Problem) {
        if let app { try await readEntries(for: app) }
        try await ask { (state, now) throws(Problem) in try state.forget(app, now: now) }
    }

    /// Begins a fetch at once, without the planner's decision.
    package func fetchNow(_ app: AppID) async throws(Problem) -> AppRefreshStatus {
        try await readEntries(for: app)
        try await ask { (state, now) throws(Problem) in try state.fetchNow(app, now: now) }
        return try known(app)
    }

    package func availability(of app: AppID) async -> RefreshAvailability {
        await hear(of: app)
        return state.availability(of: app)
    }

    // MARK: - Requests of apps

    /// Sets the minimum interval between fetches that an app requests.
    package func setInterval(_ interval: RefreshInterval, for app: AppID) async throws(Problem) {
        try await readEntries(for: app)
        try await ask { (state, now) throws(Problem) in
            try state.require(app)
            state.set(interval, byAppOf: app, now: now)
        }
    }

    package func submit(_ task: ScheduledTask, for app: AppID, isInFront: Bool) async throws(Problem) {
        try await readEntries(for: app)
        try await ask { (state, now) throws(Problem) in
            try state.submit(task, for: app, isInFront: isInFront, now: now)
        }
    }

    /// Cancels a waiting task of an app; if `identifier` is nil, all its waiting tasks.
    package func cancel(_ identifier: String?, of app: AppID) async throws(Problem) {
        _ = try await ask { (state, now) throws(Problem) in state.cancel(identifier, of: app, now: now) }
    }

    /// Cancels a waiting task, or a running continued task, at the user's request.
    package func cancelForUser(_ identifier: String, of app: AppID) async throws(Problem) {
        try await readEntries(for: app)
        try await ask { (state, now) throws(Problem) in try state.cancelForUser(identifier, of: app, now: now) }
    }

    /// Returns the waiting tasks of an app.
    package func scheduledTasks(of app: AppID) async throws(Problem) -> [ScheduledTask] {
        try await readEntries(for: app)
        try state.require(app)
        return state.pending(of: app).map(\.task)
    }

    /// Reports the progress of a continued task.
    package func progress(_ identifier: String, _ progress: ScheduledTaskProgress, of app: AppID) async throws(Problem)
    {
        try await ask { (state, now) throws(Problem) in
            try state.progress(identifier, progress, of: app, now: now)
        }
    }

    /// Reads all entries again if the app is unknown, because its entry may have been copied to the directory without a
    /// request to the service.
    private func readEntries(for app: AppID) async throws(Problem) {
        if state.manifests[app] == nil { try await readEntries() }
    }

    /// Reads all entries again if the app is unknown, like ``readEntries(for:)``. If the entries cannot be read, the
    /// known ones are used. For a program without a desktop entry, this does nothing.
    private func hear(of app: AppID) async {
        guard !app.isProgram else { return }
        try? await readEntries(for: app)
    }

    private func readEntries() async throws(Problem) {
        guard !part.isNew, let manifests = await entries.read() else { return }
        guard part.isOpen else { throw part.refusal }
        await tell { $0.read(manifests, now: $1) }
    }

    private func known(_ app: AppID) throws(Problem) -> AppRefreshStatus {
        guard let status = state.status(of: app, now) else {
            _ = try state.require(app)
            throw .notFound("There is no app '\(app)'.")
        }
        return status
    }
}
