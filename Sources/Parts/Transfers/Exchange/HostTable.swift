package import NightshiftAPI
package import Store

/// The known failures of origins, routes and proxies, and the limits that origins have shown.
///
/// This is a pure value. Each origin, route and proxy has its own ``HostBackoff``: a common pause for all its
/// transfers, then one probe. A transfer begins if its origin, its route and its proxy all allow that. The transfer is
/// then the probe of each of these three that needs a probe.
package struct HostTable: Sendable {
    /// The route of a task to its origin.
    package struct Way: Hashable, Sendable {
        package var origin: String
        /// The proxy as the task or the service configures it, without name and password. Nil leaves the choice to the
        /// environment; an empty string means no proxy.
        package var proxy: String?

        package init(origin: String, proxy: String?) {
            self.origin = origin
            self.proxy = proxy
        }

        /// All parts of the route that can fail.
        fileprivate var parts: [Part] {
            let proxy = proxy.flatMap { $0.isEmpty ? nil : Part.proxy($0) }
            return [.origin(origin), .way(self)] + (proxy.map { [$0] } ?? [])
        }
    }

    /// A pause as `why` shows it.
    package struct Pause: Hashable, Sendable {
        /// The end of the pause in boot seconds; nil while a probe is running or is next.
        package var until: Double?
        /// The start of the pause, in seconds since 1970.
        package var since: Double
        package var failure: TransferFailure
    }

    fileprivate enum Part: Hashable {
        case origin(String)
        case way(Way)
        case proxy(String)
    }

    private struct Entry: Hashable {
        var backoff = HostBackoff()
        var since: Double
        var failure: TransferFailure
    }

    private var entries: [Part: Entry] = [:]
    /// The number of recent answers of each origin without recorded failures. While the number is above zero, each
    /// refusal affects only the refused task.
    private var answers: [String: Int] = [:]
    /// The number of connections that an origin is known to accept; the key is scheme, host and port.
    private var connections: [String: HostConnections] = [:]
    /// The upload protocol of each origin that has shown one.
    private var uploadProtocols: [String: UploadProtocol] = [:]

    package init() {}

    /// Returns the number of transfers that may start on a route: 0 during a pause or a probe, 1 if a probe is needed,
    /// otherwise unlimited.
    package func allowance(_ way: Way, _ now: Double) -> Int {
        let known = way.parts.compactMap { entries[$0]?.backoff }
        if known.contains(where: { $0.isProbing || $0.blockedUntil(now) != nil }) { return 0 }
        return known.isEmpty ? .max : 1
    }

    /// Begins a transfer, which becomes the probe if one is needed; returns false if no transfer may begin.
    package mutating func admit(_ way: Way, now: Double) -> Bool {
        guard allowance(way, now) > 0 else { return false }
        for part in way.parts { _ = entries[part]?.backoff.admit(now: now) }
        return true
    }

    /// Returns the end of the last pause on a route; nil if no pause is in effect.
    package func blockedUntil(_ way: Way, _ now: Double) -> Double? {
        way.parts.compactMap { entries[$0]?.backoff.blockedUntil(now) }.max()
    }

    /// Returns the pause that a task on this route waits for; nil if no failure is recorded.
    package func pause(_ way: Way, _ now: Double) -> Pause? {
        let known = way.parts.compactMap { entries[$0] }
        guard
            let worst = known.max(by: {
                $0.backoff.blockedUntil(now) ?? 0 < $1.backoff.blockedUntil(now) ?? 0
            })
        else { return nil }
        return Pause(until: worst.backoff.blockedUntil(now), since: worst.since, failure: worst.failure)
    }

    /// Returns the origins and proxies with a pause, each with the end of the pause in boot seconds. Proxies are shown
    /// without credentials.
    package func paused(_ now: Double) -> [(origin: String, until: Double)] {
        var ends: [String: Double] = [:]
        for (part, entry) in entries {
            guard let until = entry.backoff.blockedUntil(now) else { continue }
            let origin =
                switch part {
                case .origin(let origin): origin
                case .way(let way): way.origin
                case .proxy(let proxy): (try? TransferURL(parsing: proxy))?.origin ?? "proxy"
                }
            ends[origin] = max(ends[origin] ?? 0, until)
        }
        return ends.map { ($0.key, $0.value) }.sorted { $0.origin < $1.origin }
    }

    // MARK: - Results of transfers

    /// Records that a transfer that began at `began` has failed.
    ///
    /// - Parameters:
    ///   - task: the task of the transfer.
    ///   - refusedUntil: for ``FailureAttribution/origin``: the end of the pause that the server asked for, in boot seconds.
    ///   - random: 0..<1.
    package mutating func failed(
        _ way: Way, _ attribution: FailureAttribution, _ failure: TransferFailure, of task: TaskID, began: Double,
        refusedUntil: Double?,
        now: ClockReading, random: Double
    ) {
        let time = now.bootSeconds
        for part in way.parts {
            switch (attribution, part) {
            case (.proxy, .proxy), (.address, .way):
                note(part, failure, now) { $0.failed(began: began, at: time, random: random) }
            // The address of a proxy from the environment is unknown, so its failures are recorded for the routes
            // through it.
            case (.proxy, .way) where !way.hasKnownProxy:
                note(part, failure, now) { $0.failed(began: began, at: time, random: random) }
            case (.origin, .origin(let origin)):
                // If the origin answers other tasks, the refusal concerns only this task.
                if spendAnswer(of: origin) { continue }
                note(part, failure, now) { $0.refused(task, until: refusedUntil ?? time, began: began, at: time) }
            case (.address, .proxy), (.origin, .way), (.origin, .proxy), (.request, _): succeeded(part, began: began)
            case (.proxy, _), (.address, .origin), (.nobody, _): entries[part]?.backoff.abandoned(began: began)
            }
        }
        // An error status counts as an answer, too.
        if attribution == .request, failure.status != nil { countAnswer(of: way.origin) }
    }

    /// Records that the origin has answered a transfer that began at `began`.
    ///
    /// - Returns: whether other transfers may start that were blocked.
    package mutating func answered(_ way: Way, began: Double) -> Bool {
        let before = entries.count
        for part in way.parts { succeeded(part, began: began) }
        countAnswer(of: way.origin)
        return entries.count < before
    }

    /// Records that a transfer that began at `began` ended without information about the origin.
    package mutating func abandoned(_ way: Way, began: Double) {
        for part in way.parts { entries[part]?.backoff.abandoned(began: began) }
    }

    /// Clears all failures to connect, because another network may reach these hosts. Pauses that a server asked for
    /// stay.
    package mutating func networkReturned() {
        entries = entries.filter { $0.value.backoff.isRefused }
    }

    /// Clears all failures and pauses on a route, including pauses that the server asked for. Used when a person asks
    /// to try now.
    package mutating func forget(_ way: Way) {
        for part in way.parts { entries[part] = nil }
    }

    /// Clears the failures and pauses on all routes.
    package mutating func forgetAll() {
        entries = [:]
    }

    // MARK: - Limits of origins

    /// Returns the number of connections that an origin accepts at once; nil if unknown.
    package func mostConnections(_ origin: String, now: Double) -> Int? { connections[origin]?.most(now: now) }

    /// Records that an origin has refused more than `most` connections. `until` is in boot seconds.
    package mutating func limit(_ origin: String, to most: Int, until: Double, now: Double) {
        change(origin, now: now) { $0.limit(to: most, until: until, now: now) }
    }

    /// Returns the number of connections that raised the rate of an earlier download; nil if unknown.
    package func usefulConnections(_ origin: String, now: Double) -> Int? { connections[origin]?.useful(now: now) }

    /// Records the number of connections that a download has found to be useful.
    package mutating func found(useful count: Int, for origin: String, now: Double) {
        change(origin, now: now) { $0.found(useful: count, until: now + Self.usefulTime) }
    }

    private mutating func change(_ origin: String, now: Double, _ body: (inout HostConnections) -> Void) {
        connections = connections.filter { !$0.value.isOutdated(now: now) }
        body(&connections[origin, default: HostConnections()])
    }

    /// The number of seconds for which a useful number of connections is remembered. The path may change.
    private static let usefulTime: Double = 3_600

    /// Returns the upload protocol of an origin, for uploads that do not name one; nil if the origin has not shown one.
    package func uploadProtocol(of origin: String) -> UploadProtocol? { uploadProtocols[origin] }

    /// Returns the protocol for a new upload of a task.
    package func uploadProtocol(for record: TaskRecord) -> UploadProtocol {
        switch record.request.resumption {
        case .plain: .plain
        case .tus: .tus
        // An upload in several requests would have to satisfy the condition in each of them.
        case .draft where record.request.asksConditionally, nil where record.request.asksConditionally: .plain
        case .draft, nil: uploadProtocol(of: record.origin) ?? .draft(.latest)
        }
    }

    /// Records the upload protocol that an origin has shown. Tus is not recorded, because it is used only on request.
    package mutating func learn(_ uploadProtocol: UploadProtocol, of origin: String) {
        if case .tus = uploadProtocol { return }
        if uploadProtocols.count >= Self.knownUploadProtocols { uploadProtocols = [:] }
        uploadProtocols[origin] = uploadProtocol
    }

    /// The number of origins whose upload protocol is remembered. The apps of one user contact fewer origins than this.
    package static let knownUploadProtocols = 1_000

    private mutating func note(
        _ part: Part, _ failure: TransferFailure, _ now: ClockReading, _ change: (inout HostBackoff) -> Void
    ) {
        var entry = entries[part] ?? Entry(since: now.wallSeconds, failure: failure)
        change(&entry.backoff)
        entry.failure = failure
        entries[part] = entry
    }

    /// Counts one answer of an origin.
    private mutating func countAnswer(of origin: String) {
        // While the origin has a recorded failure, its answers are not counted.
        guard entries[.origin(origin)] == nil else { return }
        if answers[origin] == nil, answers.count >= Self.answeringOrigins { answers = [:] }
        answers[origin] = min((answers[origin] ?? 0) + 1, Self.countedAnswers)
    }

    /// Returns whether an origin has answered more often than it has refused. Each refusal uses up one answer.
    private mutating func spendAnswer(of origin: String) -> Bool {
        guard entries[.origin(origin)] == nil, let count = answers[origin], count > 0 else { return false }
        answers[origin] = count - 1
        return true
    }

    /// The highest number of answers that are counted for an origin. It is also the highest number of refusals that
    /// affect only the refused task. The value equals the usual number of simultaneous requests to one origin.
    private static let countedAnswers = 6
    /// The number of origins whose answers are counted. Forgetting an origin costs one probe.
    package static let answeringOrigins = 1_000

    private mutating func succeeded(_ part: Part, began: Double) {
        entries[part]?.backoff.succeeded(began: began)
        if entries[part]?.backoff.isOpen == true { entries[part] = nil }
    }
}

extension HostTable.Way {
    fileprivate var hasKnownProxy: Bool { proxy.map { !$0.isEmpty } ?? false }
}
