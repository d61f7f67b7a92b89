import Books
package import Clock
package import Foundation
package import Logging
package import NightshiftAPI
import Scheduler
package import Store

/// Location: which app is told when the device enters or leaves a region, or is somewhere else, and everything that the local API
/// offers of it.
///
/// One ``LocationBook`` decides; this actor carries out. Whatever a method has returned for is on disk, and nothing is told before
/// it is, or could not be written; where one has thrown, nothing has changed. Methods that people and apps call throw ``Problem`` and nothing else. See `docs/decisions/0043`.
package actor LocationService {
    /// The world as the service needs it.
    package struct Environment: Sendable {
        /// Asks the user of the device whether an app of this name may learn where it is, with the app's reason; nil where he
        /// cannot be asked, and where he does not answer.
        package typealias Ask =
            @Sendable (AppID, _ name: String, _ reason: String?, LocationPermission) async -> LocationPermission?

        package var store: Store
        package var clock: any ServiceClock
        package var source: any FixSource
        /// Seconds that local time is ahead of UTC at a moment.
        package var offset: @Sendable (Date) -> Int
        package var ask: Ask
        /// Tells the processes of an app its user's word.
        package var permissionChanged: @Sendable (AppID, LocationNotice) async -> Void
        /// An app is not to be woken any more for what it was to be woken for.
        package var wakesChanged: @Sendable (AppID) async -> Void
        /// What the entries of installed apps say; nil once there is nobody to ask.
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
    let kept: KeptBook<LocationBook>
    private let entries: EntryReading
    /// The next look, in boot seconds.
    private var alarm = Alarm()
    /// Those who wait for the sources to be looked at.
    private var waitingForSources: [CheckedContinuation<Void, Never>] = []
    /// How often it was said what sources there are.
    private var sourcesTold = 0
    /// The streams of apps that ask for the place, by the numbers of their requests.
    private var updates: [Int: AsyncStream<LocationUpdate>.Continuation] = [:]
    private var lastUpdates = 0
    private let companions = Mailbox<LocationService>()

    package init(_ environment: Environment) {
        self.environment = environment
        entries = EntryReading(environment.manifests)
        kept = KeptBook(
            LocationBook(bootID: environment.clock.now().bootID), store: environment.store, clock: environment.clock,
            closed: "The location is not followed now.", logger: environment.logger
        ) { environment.now }
    }

    var book: LocationBook { kept.book }
    nonisolated var now: LocationMoment { environment.now }

    // MARK: - Life

    /// Takes up what the last service has left. Behind the apps, before they run.
    ///
    /// - Throws: ``StoreError`` when the state that is there cannot be read.
    package func prepare() async throws(StoreError) {
        guard kept.isNew else { return }
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
        let now = now
        let book = LocationBook(
            rows, manifests: manifests, bootID: book.bootID, seenBefore: seenBefore, moment: book.moment, now: now)
        await kept.open(book)
    }

    /// Decides, until ``stop()``.
    package func run() async {
        await look()
        await companions.run(by: self, beside: [{ await $0.followSources() }])
        // The receiver's seconds that waited for another reason to be written.
        await kept.flush { $0.writeAll() }
    }

    package func stop() {
        guard !kept.isClosed else { return }
        kept.close()
        alarm.cancel()
        environment.source.shutdown()
        companions.finish()
        sourcesAreKnown()
        for stream in updates.values { stream.finish() }
        updates = [:]
    }

    private func followSources() async {
        for await update in environment.source.updates { await take(update) }
    }

    private func look() async { await tell { _, _ in } }

    private func setAlarm() {
        alarm.set(for: kept.isClosed ? nil : book.nextLook, by: environment.clock) { await self.alarmRang($0) }
    }

    private func alarmRang(_ moment: Double) async {
        alarm.rang(moment)
        await look()
    }

    // MARK: - Steps

    private var hooks: KeptBook<LocationBook>.Hooks { KeptBook.Hooks(decided: { self.follow() }) }

    /// Gives the book an input that nobody waits for, decides, and carries out what follows from it.
    func tell(_ input: (inout LocationBook, LocationMoment) -> Void) async {
        for effect in await kept.step(input, hooks).effects { await perform(effect) }
    }

    /// A request: answered when it is on disk. Where it cannot be written, nothing has changed.
    func ask<Value>(
        _ input: (inout LocationBook, LocationMoment) throws(Problem) -> Value
    ) async throws(Problem) -> Value {
        let (value, effects) = try await kept.change(input, hooks)
        for effect in effects { await perform(effect) }
        await kept.written()
        return value
    }

    // MARK: - Streams

    /// The places that an app asks for while it runs: as they come, or one. The stream's end withdraws the request.
    ///
    /// - Parameter asksUser: whether a user who has not said whether the app may is asked.
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
            try await ask { (book, now) throws(Problem) in
                try book.follow(number, wanted, for: app, asksUser: asksUser, now: now)
            }
        } catch {
            updates[number] = nil
            throw error
        }
        // After the request is made: before that there is nothing to withdraw.
        continuation.onTermination = { [companions] _ in companions.yield { await $0.endUpdates(number) } }
        return stream
    }

    private func endUpdates(_ number: Int) async {
        guard updates.removeValue(forKey: number) != nil else { return }
        await tell { book, _ in book.unfollow(number) }
    }

    /// Places that an app has not read: of more the oldest are of no use.
    private static let mostUnread = 16

    // MARK: - What follows from a step

    /// What the book wants of the clock and of the sources. Nothing of it has to be on disk.
    private func follow() {
        setAlarm()
        // Of two wishes the later one must not be told first.
        if let wish = kept.take({ $0.takeWish() }) { environment.source.want(wish) }
        for delivery in kept.take({ $0.takeDeliveries() }) {
            let stream = updates[delivery.number]
            stream?.yield(delivery.update)
            guard delivery.isLast else { continue }
            updates[delivery.number] = nil
            stream?.finish()
        }
    }

    private func perform(_ effect: LocationEffect) async {
        switch effect {
        case .permission(let app):
            // As it is by now: of two changes the later one must not be told first.
            if let notice = book.notice(for: app) { await environment.permissionChanged(app, notice) }
        case .wakesChanged(let app): await environment.wakesChanged(app)
        case .ask(let app, let name, let reason, let permission):
            // Whoever has asked for it does not wait for a person.
            companions.yield { await $0.askUser(app, name, reason, permission) }
        }
    }

    private func askUser(_ app: AppID, _ name: String, _ reason: String?, _ permission: LocationPermission) async {
        let answer = await environment.ask(app, name, reason, permission)
        guard let answer else { return await tell { $0.asked(app, nil, now: $1) } }
        do throws(Problem) {
            try await ask { book, now in book.asked(app, answer, now: now) }
        } catch {
            environment.logger.error("An answer is not kept", metadata: ["app": "\(app)", "error": "\(error)"])
            // He can be asked again.
            await tell { $0.asked(app, nil, now: $1) }
        }
    }

    // MARK: - What happens

    package func apply(_ moment: DeviceMoment) async {
        guard !kept.isNew else { return await kept.note { $0.apply(moment) } }
        await tell { book, _ in book.apply(moment) }
    }

    /// A source has said something.
    package func take(_ update: FixUpdate) async {
        if case .sources = update { sourcesTold += 1 }
        await tell { $0.take(update, now: $1) }
        if book.sources != nil { sourcesAreKnown() }
    }

    /// Returns when the sources were looked at just now, which takes seconds at most: whoever asks what can be monitored may monitor
    /// nothing before it can be, so that nobody else would have them looked at.
    func sourcesToBeKnown() async {
        while book.sources == nil, !kept.isClosed { await withCheckedContinuation { waitingForSources.append($0) } }
        guard !kept.isClosed, book.sourcesMayHaveChanged(now) else { return }
        let toldBefore = sourcesTold
        // What the sources have said by themselves meanwhile may be newer than this answer, and is said once.
        guard let update = await environment.source.look(), sourcesTold == toldBefore else { return }
        await take(update)
    }

    private func sourcesAreKnown() {
        for waiter in waitingForSources { waiter.resume() }
        waitingForSources = []
    }

    /// The app came to the front of its user, or left it.
    package func use(_ app: AppID, isInFront: Bool) async { await tell { $0.use(app, isInFront: isInFront, now: $1) } }

    /// The app's process stands still, or runs again.
    package func suspend(_ app: AppID, isSuspended: Bool) async {
        await tell { $0.suspend(app, isSuspended: isSuspended, now: $1) }
    }

    package func forceQuit(_ app: AppID) async { await tell { $0.forceQuit(app, now: $1) } }

    package func launched(_ app: AppID) async { await tell { $0.launched(app, now: $1) } }

    /// The app's entry says this now; nil where it was removed.
    package func installed(_ app: AppID, _ manifest: AppManifest?) async {
        entries.told()
        await tell { $0.installed(app, manifest, now: $1) }
    }

    /// An entry may have been put there by hand: whoever asks for an app that is not known has the entries read anew.
    func readEntries(for app: AppID) async throws(Problem) {
        if book.manifests[app] == nil { try await readEntries() }
    }

    func readEntries() async throws(Problem) {
        guard !kept.isNew, let manifests = await entries.read() else { return }
        guard kept.isOpen else { throw kept.refusal }
        await tell { $0.read(manifests, now: $1) }
    }
}
