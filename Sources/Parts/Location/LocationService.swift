package import Clock
package import Foundation
package import Logging
package import NightshiftAPI
package import Runtime
import Scheduler
package import Store

/// The location feature, which notifies apps when the device enters or leaves a region, or has moved. It contains all
/// location operations of the local API.
///
/// One ``LocationState`` decides, and this actor executes. When a method returns, its effects are on disk. When a
/// method throws, nothing has changed. Apps are notified only after their event is on disk, or could not be written.
/// Methods that users and apps call throw only ``Problem``. See `docs/decisions/0043`.
package actor LocationService: PartService {
    /// The store, clock and other dependencies of the service.
    package struct Environment: Sendable {
        /// A function that asks the user whether an app with this name may use the location, for the app's reason. It
        /// returns nil if the user cannot be asked, or does not answer.
        package typealias Ask =
            @Sendable (AppID, _ name: String, _ reason: String?, LocationPermission) async -> LocationPermission?

        package var store: Store
        package var clock: any ServiceClock
        package var source: any FixSource
        /// Returns the offset of local time from UTC at a time, in seconds.
        package var offset: @Sendable (Date) -> Int
        package var ask: Ask
        /// Sends the permission to the processes of an app.
        package var permissionChanged: @Sendable (AppID, LocationNotice) async -> Void
        /// A callback that runs after waiting wakes of an app were cancelled.
        package var wakesChanged: @Sendable (AppID) async -> Void
        /// Returns the manifests of installed apps; nil once the app service has stopped.
        package var manifests: @Sendable () async -> [AppManifest]?
        package var logger: Logger

        package init(
            store: Store, clock: any ServiceClock, source: any FixSource,
            offset: @escaping @Sendable (Date) -> Int = { TimeZone.autoupdatingCurrent.secondsFromGMT(for: $0) },
            ask: @escaping Ask = { _, _, _, _ in nil },
            permissionChanged: @escaping @Sendable (AppID, LocationNotice) async -> Void = { _, _ in },
            wakesChanged: @escaping @Sendable (AppID) async -> Void = { _ in },
            manifests: @escaping @Sendable () async -> [AppManifest]? = { [] }, logger: Logger
        ) {
            self.store = store
            self.clock = clock
            self.source = source
            self.offset = offset
            self.ask = ask
            self.permissionChanged = permissionChanged
            self.wakesChanged = wakesChanged
            self.manifests = manifests
            self.logger = logger
        }

        fileprivate var now: LocationMoment {
            let reading = clock.now()
            return LocationMoment(
                bootSeconds: reading.bootSeconds,
                local: LocalMoment(seconds: reading.wallSeconds, offset: offset(reading.date)))
        }
    }

    nonisolated let environment: Environment
    package let part: Part<LocationState>
    private let entries: EntryReading
    package var alarm = Alarm()
    /// Callers waiting until the location sources are known.
    private var waitingForSources: [CheckedContinuation<Void, Never>] = []
    /// The number of reports of available sources so far.
    private var sourcesTold = 0
    /// The streams of locations for running apps, by the numbers of their location requests.
    private var updates: [Int: AsyncStream<LocationUpdate>.Continuation] = [:]
    private var lastUpdates = 0
    private let companions = Mailbox<LocationService>()

    package init(_ environment: Environment) {
        self.environment = environment
        entries = EntryReading(environment.manifests)
        part = Part(
            LocationState(bootID: environment.clock.now().bootID), store: environment.store, clock: environment.clock,
            closed: "The location service is not running.", logger: environment.logger
        ) { environment.now }
    }

    package nonisolated var clock: any ServiceClock { environment.clock }
    nonisolated var now: LocationMoment { environment.now }

    // MARK: - Start and stop

    /// Restores the stored state of the previous run of the service. It must be called after the apps are prepared and
    /// before they run.
    ///
    /// - Throws: ``StoreError`` if the stored state cannot be read.
    package func prepare() async throws(StoreError) {
        guard part.isNew else { return }
        let manifests = await environment.manifests()
        let (rows, seenBefore) = try await environment.store.read { transaction in
            (
                try transaction.location(LocationRecord.self, DeviceLocationRecord.self),
                try transaction.secondsSeenBefore()
            )
        }
        for what in rows.unreadable {
            environment.logger.error("A row cannot be read", metadata: ["row": "\(what)"])
        }
        let bootID = environment.clock.now().bootID
        await part.open(LocationState(rows), hooks) { state, earlier, now in
            state.apply(earlier.moment)
            state.begin(manifests, bootID: bootID, seenBefore: seenBefore, unreadable: rows.unreadable, now: now)
        }
    }

    /// Makes decisions until ``stop()``.
    package func run() async {
        await look()
        await companions.run(by: self, beside: [{ await $0.followSources() }])
        // The receiver's seconds are written here, because otherwise they are written only together with other changes.
        await part.flush { $0.writeAll() }
    }

    package func stop() async {
        guard !part.isClosed else { return }
        part.close()
        alarm.cancel()
        environment.source.shutdown()
        companions.finish()
        sourcesAreKnown()
        for stream in updates.values { stream.finish() }
        updates = [:]
        await part.settled()
    }

    private func followSources() async {
        for await update in environment.source.updates { await take(update) }
    }

    // MARK: - Streams

    /// Returns a stream of the locations that a running app requests. The stream may have one element only. The end of
    /// the stream cancels the request.
    ///
    /// - Parameter asksUser: whether to ask the user for permission, if there is no answer yet.
    package func updates(
        _ wanted: LocationUpdateRequest, for app: AppID, asksUser: Bool
    ) async throws(Problem) -> AsyncStream<LocationUpdate> {
        try await readEntries(for: app)
        lastUpdates += 1
        let number = lastUpdates
        let (stream, continuation) = AsyncStream.makeStream(
            of: LocationUpdate.self, bufferingPolicy: .bufferingNewest(Self.mostUnread))
        updates[number] = continuation
        do throws(Problem) {
            try await ask { (state, now) throws(Problem) in
                try state.follow(number, wanted, for: app, asksUser: asksUser, now: now)
            }
        } catch {
            updates[number] = nil
            throw error
        }
        // This is set after the request exists, because before that there is nothing to cancel.
        continuation.onTermination = { [companions] _ in companions.yield { await $0.endUpdates(number) } }
        return stream
    }

    private func endUpdates(_ number: Int) async {
        guard updates.removeValue(forKey: number) != nil else { return }
        await tell { state, _ in state.unfollow(number) }
    }

    /// The number of locations buffered for an app. If there are more, the oldest are dropped.
    private static let mostUnread = 16

    // MARK: - Effects of a step

    /// Sends requests to the sources, and delivers locations. These effects do not wait for the disk.
    package func decided() {
        // The request is sent before the first suspension point. Otherwise a later request could be sent before an
        // earlier one.
        if let wish = part.take({ $0.takeWish() }) { environment.source.want(wish) }
        for delivery in part.take({ $0.takeDeliveries() }) {
            let stream = updates[delivery.number]
            stream?.yield(delivery.update)
            guard delivery.isLast else { continue }
            updates[delivery.number] = nil
            stream?.finish()
        }
    }

    package func perform(_ effect: LocationEffect) async {
        switch effect {
        case .permission(let app):
            // The current permission is sent, because the notices of two changes could arrive in the wrong order.
            if let notice = state.notice(for: app) { await environment.permissionChanged(app, notice) }
        case .wakesChanged(let app): await environment.wakesChanged(app)
        case .ask(let app, let name, let reason, let permission):
            // The question runs in the background, because the caller does not wait for the user's answer.
            companions.yield { await $0.askUser(app, name, reason, permission) }
        }
    }

    private func askUser(_ app: AppID, _ name: String, _ reason: String?, _ permission: LocationPermission) async {
        let answer = await environment.ask(app, name, reason, permission)
        guard let answer else {
            await tell { $0.asked(app, nil, now: $1) }
            return
        }
        do throws(Problem) {
            try await ask { state, now in state.asked(app, answer, now: now) }
        } catch {
            environment.logger.error("An answer could not be stored", metadata: ["app": "\(app)", "error": "\(error)"])
            // The stored answer was not changed, so the user can be asked again.
            await tell { $0.asked(app, nil, now: $1) }
        }
    }

    // MARK: - Events

    package func apply(_ moment: DeviceState) async {
        guard !part.isNew else { return await part.note { $0.apply(moment) } }
        await tell { state, _ in state.apply(moment) }
    }

    /// Handles an update of a location source.
    package func take(_ update: FixUpdate) async {
        if case .sources = update { sourcesTold += 1 }
        await tell { $0.take(update, now: $1) }
        if state.sources != nil { sourcesAreKnown() }
    }

    /// Returns when the available sources are known and the report about them is at most a few seconds old. This takes
    /// at most seconds.
    ///
    /// An app asks what can be monitored before it monitors anything, and the sources report changes unasked only while
    /// an app monitors something.
    func sourcesToBeKnown() async {
        while state.sources == nil, !part.isClosed { await withCheckedContinuation { waitingForSources.append($0) } }
        guard !part.isClosed, state.sourcesMayHaveChanged(now) else { return }
        let toldBefore = sourcesTold
        // If the sources have sent a report in the meantime, that report may be newer than this answer, which is then
        // ignored.
        guard let update = await environment.source.look(), sourcesTold == toldBefore else { return }
        await take(update)
    }

    private func sourcesAreKnown() {
        for waiter in waitingForSources { waiter.resume() }
        waitingForSources = []
    }

    package func receive(_ event: AppEvent, of app: AppID) async {
        if case .installed = event { entries.told() }
        guard event != .wakesEnded else { return }
        await tell { state, now in
            switch event {
            case .use(let isInFront): state.use(app, isInFront: isInFront, now: now)
            case .suspended(let isSuspended): state.suspend(app, isSuspended: isSuspended, now: now)
            case .forceQuit: state.forceQuit(app, now: now)
            case .launched: state.launched(app, now: now)
            case .installed(let manifest): state.installed(app, manifest, now: now)
            case .wakesEnded: break
            }
        }
    }

    /// Reads all desktop entries again if the app is unknown, because its entry may have been installed by hand.
    func readEntries(for app: AppID) async throws(Problem) {
        if state.manifests[app] == nil { try await readEntries() }
    }

    func readEntries() async throws(Problem) {
        guard !part.isNew, let manifests = await entries.read() else { return }
        guard part.isOpen else { throw part.refusal }
        await tell { $0.read(manifests, now: $1) }
    }
}
