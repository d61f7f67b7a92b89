import Foundation
import Logging
import NightshiftAPI
import NightshiftClient

/// The bridge between clients of aria2 and the service: it performs their calls, and notifies them of events.
///
/// The transfers of the service are the only record of downloads. The bridge keeps a list of their identifiers and
/// statuses while clients use it. It reads the list again after a pause, after a restart, or when its stream of events
/// breaks.
actor Bridge {
    /// The session of the service in which all downloads of the bridge are.
    static let session = SessionID(rawValue: "aria2")

    let client: ServiceClient
    private let launcher: ServiceLauncher
    private let file: BridgeFile
    /// The folder of downloads without `dir`.
    let directory: String
    private let logger: Logger
    /// Ends the program and closes all connections, so it is called once the response to `aria2.shutdown` is written.
    let end: @Sendable () -> Void
    /// Called when no client has used the bridge for a while.
    private let onRest: @Sendable () -> Void
    /// The identifier of this run, with 40 hexadecimal digits.
    let sessionID = String((0..<3).map { _ in GID().text }.joined().prefix(40))
    let secret: String

    /// The options that the user changed for all downloads.
    private(set) var standards: [String: OptionValue]
    var downloads = DownloadList()
    private var turns = Turns()
    private var isLoaded = false
    /// Whether listeners have not been notified of events since the list was read.
    private var isBehind = false
    /// Follows events, or reads the list again until the service answers.
    private var follower: Task<Void, Never>?
    /// Transfers with events that are not in the list yet.
    private var changed: Set<TaskID> = []
    private var isRefreshing = false
    /// Whether calls are being performed. Until their results are delivered, their notifications are in ``unsent``.
    private var isPerforming = false
    /// Whether one of the calls that are being performed has requested the end of the program.
    private var isEndRequested = false
    private var unsent: [(gid: GID, events: [DownloadEvent])] = []
    private var listeners: [Int: @Sendable (DownloadEvent, GID) -> Void] = [:]
    private var lastListener = 0
    private var lastUse = ContinuousClock.now
    private var rest: Task<Void, any Error>?

    /// The time without a client after which the bridge stops following events.
    private static let restAfter = Duration.seconds(60)

    init(
        client: ServiceClient, launcher: ServiceLauncher, file: BridgeFile, content: BridgeFile.Content,
        directory: String, logger: Logger, end: @escaping @Sendable () -> Void, onRest: @escaping @Sendable () -> Void
    ) {
        self.client = client
        self.launcher = launcher
        self.file = file
        self.directory = directory
        self.logger = logger
        self.end = end
        self.onRest = onRest
        secret = content.secret
        standards = content.options
    }

    // MARK: - Turns

    /// Performs calls in one turn, one after the other.
    ///
    /// - Parameter deliver: called with the results, and whether the program has to end after the response with them,
    ///   before the notifications that the calls cause.
    func perform(
        _ calls: [RPCCall], deliver: @Sendable (_ results: [Result<RPCValue, RPCError>], _ endsProgram: Bool) -> Void
    ) async {
        await takeTurn()
        use()
        isPerforming = true
        isEndRequested = false
        var results: [Result<RPCValue, RPCError>] = []
        for call in calls {
            do {
                results.append(.success(try await result(of: call)))
            } catch {
                results.append(.failure(failure(error)))
            }
        }
        isPerforming = false
        lastUse = .now
        deliver(results, isEndRequested)
        let notifications = unsent
        unsent = []
        for (gid, events) in notifications { notify(gid, events) }
        turns.end()
    }

    private func takeTurn() async {
        guard !turns.take() else { return }
        await withCheckedContinuation { turns.wait($0) }
    }

    /// Returns the error for the client of a call.
    func failure(_ error: any Error) -> RPCError {
        switch error {
        case let error as RPCError: return error
        case let problem as Problem: return RPCError(problem.detail ?? problem.title)
        case let failure as ServiceUnreachable: return RPCError(failure.message)
        case let failure as ServiceUnusable: return RPCError(failure.message)
        case let failure as BridgeFailure: return RPCError(failure.message)
        default:
            logger.error("call failed", metadata: ["error": "\(error)"])
            return RPCError("The service did not answer.")
        }
    }

    /// Sends a request to the service. If the service does not run, a call of a client starts it, and sends the request
    /// once more. The bridge's own reading does not: a stopped service stays stopped until somebody needs it.
    func send<Answer>(_ endpoint: Endpoint<Answer>) async throws -> Answer {
        do {
            return try await client.send(endpoint)
        } catch is ServiceUnreachable where isPerforming {
            try await launcher.ensureRunning()
            return try await client.send(endpoint)
        }
    }

    // MARK: - The list

    /// Records that a client uses the bridge.
    private func use() {
        lastUse = .now
        if rest == nil { rest = Task { [weak self] in try await self?.restWhenUnused() } }
    }

    /// Reads the list if it is not loaded, and notifies listeners of what happened since it was read before.
    func prepare() async throws {
        guard !isLoaded else { return }
        let last = try await send(.status).lastJournalEntry
        var downloads = DownloadList()
        var filter = TaskFilter()
        filter.session = Self.session
        var page = try await send(.tasks(filter))
        while true {
            for task in page.tasks { _ = downloads.update(task) }
            guard let next = page.next else { break }
            page = try await send(.tasks(filter, after: next))
        }
        let earlier = isBehind ? self.downloads : downloads
        self.downloads = downloads
        isLoaded = true
        isBehind = false
        for (gid, events) in downloads.events(since: earlier) { notify(gid, events) }
        follower?.cancel()
        follower = Task { [weak self] in await self?.follow(after: last) }
    }

    /// Follows the events of the bridge's session until the stream ends.
    private func follow(after entry: Int64) async {
        let events = client.events(.events(progress: false, session: Self.session), lastEventID: entry)
        do {
            for try await event in events {
                guard let event = try event.serviceEvent() else { continue }
                switch event {
                case .journal(let entry): received(entry)
                case .reset: return lose()
                case .progress: break
                }
            }
        } catch {
            logger.debug("events ended", metadata: ["error": "\(error)"])
        }
        if !Task.isCancelled { lose() }
    }

    /// Records that the list is no longer true. With listeners, it is read again as soon as the service answers; without
    /// listeners, by the next call.
    private func lose() {
        if isLoaded, !listeners.isEmpty { isBehind = true }
        isLoaded = false
        follower?.cancel()
        follower = listeners.isEmpty ? nil : Task { [weak self] in await self?.reload() }
    }

    private func reload() async {
        var pause = Duration.milliseconds(100)
        while !Task.isCancelled {
            await takeTurn()
            do {
                try await prepare()
            } catch {
                logger.debug("the list could not be read", metadata: ["error": "\(error)"])
            }
            turns.end()
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, Self.longestPause)
        }
    }

    /// The longest time from the start of a service to notifications from it.
    private static let longestPause = Duration.seconds(5)

    private func forget() {
        isLoaded = false
        isBehind = false
        follower?.cancel()
        follower = nil
    }

    private func received(_ entry: JournalEntry) {
        guard let task = entry.task else { return }
        if entry.decision == .removed { return downloads.remove(task) }
        changed.insert(task)
        guard !isRefreshing else { return }
        isRefreshing = true
        Task { await refresh() }
    }

    /// Reads the transfers with events in turns of their own, and notifies listeners.
    private func refresh() async {
        while !changed.isEmpty {
            await takeTurn()
            do {
                try await readChanges(atMost: Self.mostTasksPerRead)
            } catch {
                logger.debug("transfers could not be read", metadata: ["error": "\(error)"])
            }
            turns.end()
        }
        isRefreshing = false
    }

    /// Reads transfers with events now, so that the list has all downloads that the service has reported.
    func readChanges(atMost count: Int = .max) async throws {
        // Events that arrive while the transfers are read are read next time.
        let tasks = Array(changed.prefix(count))
        changed.subtract(tasks)
        do {
            try await update(tasks)
        } catch {
            lose()
            throw error
        }
    }

    /// The maximum number of transfers in one request. The ids are in its path, which may have 8 KiB.
    private static let mostTasksPerRead = 250

    /// Reads transfers, and applies them to the list.
    ///
    /// - Returns: the transfers that exist, in the order of `tasks`.
    @discardableResult
    func update(_ tasks: [TaskID]) async throws -> [StatusFields] {
        var found: [TaskID: StatusFields] = [:]
        for start in stride(from: 0, to: tasks.count, by: Self.mostTasksPerRead) {
            let part = Array(tasks[start...].prefix(Self.mostTasksPerRead))
            for task in try await send(.tasks(TaskFilter(tasks: part))).tasks {
                found[task.id] = apply(task)
            }
        }
        return tasks.compactMap { found[$0] }
    }

    /// Applies the status of a transfer to the list, and notifies listeners.
    ///
    /// - Returns: the fields of the download; nil if the transfer is not a download of the bridge.
    @discardableResult
    func apply(_ task: TaskStatus) -> StatusFields? {
        guard let (note, events) = downloads.update(task) else { return nil }
        notify(note.gid, events)
        return StatusFields(task: task, note: note, directory: directory)
    }

    // MARK: - Listeners

    /// Adds a listener that is called for each event of a download.
    ///
    /// - Returns: the number of the listener.
    func add(listener: @escaping @Sendable (DownloadEvent, GID) -> Void) async -> Int {
        lastListener += 1
        listeners[lastListener] = listener
        let number = lastListener
        use()
        await takeTurn()
        // Without a service there are no events. A call starts it.
        do { try await prepare() } catch { lose() }
        turns.end()
        return number
    }

    func remove(listener number: Int) {
        listeners[number] = nil
        if listeners.isEmpty, !isLoaded { forget() }
        use()
    }

    private func notify(_ gid: GID, _ events: [DownloadEvent]) {
        guard !isPerforming else {
            unsent.append((gid, events))
            return
        }
        for event in events {
            for listener in listeners.values { listener(event, gid) }
        }
    }

    /// Waits until no client has used the bridge for a while, and forgets the list.
    private func restWhenUnused() async throws {
        while true {
            let isUsed = !listeners.isEmpty || isPerforming
            let pause = isUsed ? Self.restAfter : lastUse + Self.restAfter - .now
            if pause <= .zero { break }
            try await Task.sleep(for: pause)
        }
        rest = nil
        forget()
        downloads = DownloadList()
        onRest()
    }

    // MARK: - Options and end

    /// Stores options for new downloads.
    func change(standards options: [String: OptionValue]) throws {
        let changed = standards.merging(options) { $1 }
        guard changed != standards else { return }
        try file.write(BridgeFile.Content(secret: secret, options: changed))
        standards = changed
    }

    /// Requests the end of the program.
    func shutDown() {
        isEndRequested = true
    }
}
