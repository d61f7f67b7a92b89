package import NightshiftAPI
package import Store

/// What is known of origins, the ways to them, and proxies: what speaks against them, and what they take.
///
/// Pure. Each has its own ``HostBackoff``: one pause for all that meet in it, then one probe. A transfer begins where none of
/// those on its way forbids it, and is then the probe of each that wants one.
package struct HostTable: Sendable {
    /// How a task gets to its origin.
    package struct Way: Hashable, Sendable {
        package var origin: String
        /// As the task or the service names it, without name and password; nil leaves it to the environment, empty is none.
        package var proxy: String?

        package init(origin: String, proxy: String?) {
            self.origin = origin
            self.proxy = proxy
        }

        /// Whatever can be in trouble on it.
        fileprivate var parts: [Part] {
            let proxy = proxy.flatMap { $0.isEmpty ? nil : Part.proxy($0) }
            return [.origin(origin), .way(self)] + (proxy.map { [$0] } ?? [])
        }
    }

    /// A pause as `why` tells it.
    package struct Pause: Hashable, Sendable {
        /// Boot seconds; nil while a probe is under way, or about to be.
        package var until: Double?
        /// Seconds since 1970.
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
    /// How many answers of an origin nothing speaks against yet: as many refusals are held against the refused alone.
    private var answers: [String: Int] = [:]
    /// How many connections origins were seen to take; by scheme, host and port.
    private var connections: [String: HostConnections] = [:]
    /// How origins take uploads, where they have shown it.
    private var uploadProtocols: [String: UploadProtocol] = [:]

    package init() {}

    /// How many transfers may start on a way: 0 in a pause or behind a probe, 1 where one has to probe, else any number.
    package func allowance(_ way: Way, _ now: Double) -> Int {
        let known = way.parts.compactMap { entries[$0]?.backoff }
        if known.contains(where: { $0.isProbing || $0.blockedUntil(now) != nil }) { return 0 }
        return known.isEmpty ? .max : 1
    }

    /// Begins a transfer, which is the probe where one is wanted; false where none may begin.
    package mutating func admit(_ way: Way, now: Double) -> Bool {
        guard allowance(way, now) > 0 else { return false }
        for part in way.parts { _ = entries[part]?.backoff.admit(now: now) }
        return true
    }

    /// When the last pause on a way ends; nil where there is none any more.
    package func blockedUntil(_ way: Way, _ now: Double) -> Double? {
        way.parts.compactMap { entries[$0]?.backoff.blockedUntil(now) }.max()
    }

    /// What a task on this way waits for; nil where there is nothing against it.
    package func pause(_ way: Way, _ now: Double) -> Pause? {
        let known = way.parts.compactMap { entries[$0] }
        guard
            let worst = known.max(by: {
                $0.backoff.blockedUntil(now) ?? 0 < $1.backoff.blockedUntil(now) ?? 0
            })
        else { return nil }
        return Pause(until: worst.backoff.blockedUntil(now), since: worst.since, failure: worst.failure)
    }

    /// Origins, and proxies without what lets people in, that pause, each until the boot second at its end.
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

    // MARK: - What happens

    /// A transfer that began at `began` has failed.
    ///
    /// - Parameters:
    ///   - task: whose it is.
    ///   - refusedUntil: for ``Blame/origin``: boot seconds until which the server asked to be left alone.
    ///   - random: 0..<1.
    package mutating func failed(
        _ way: Way, _ blame: Blame, _ failure: TransferFailure, of task: TaskID, began: Double, refusedUntil: Double?,
        now: ClockReading, random: Double
    ) {
        let time = now.bootSeconds
        for part in way.parts {
            switch (blame, part) {
            case (.proxy, .proxy), (.address, .way):
                note(part, failure, now) { $0.failed(began: began, at: time, random: random) }
            // A proxy of the environment is known by the ways through it alone.
            case (.proxy, .way) where !way.hasKnownProxy:
                note(part, failure, now) { $0.failed(began: began, at: time, random: random) }
            case (.origin, .origin(let origin)):
                // An origin that answers others means the refused alone.
                if spendAnswer(of: origin) { continue }
                note(part, failure, now) { $0.refused(task, until: refusedUntil ?? time, began: began, at: time) }
            case (.address, .proxy), (.origin, .way), (.origin, .proxy), (.request, _): succeeded(part, began: began)
            case (.proxy, _), (.address, .origin), (.nobody, _): entries[part]?.backoff.abandoned(began: began)
            }
        }
        // An error is an answer, too.
        if blame == .request, failure.status != nil { countAnswer(of: way.origin) }
    }

    /// The origin has answered a transfer that began at `began`.
    ///
    /// - Returns: whether others may start that could not.
    package mutating func answered(_ way: Way, began: Double) -> Bool {
        let before = entries.count
        for part in way.parts { succeeded(part, began: began) }
        countAnswer(of: way.origin)
        return entries.count < before
    }

    /// A transfer that began at `began` has ended without telling anything.
    package mutating func abandoned(_ way: Way, began: Double) {
        for part in way.parts { entries[part]?.backoff.abandoned(began: began) }
    }

    /// The network is another one: what could not be reached may be reachable. What a server asked for stays.
    package mutating func networkReturned() {
        entries = entries.filter { $0.value.backoff.isRefused }
    }

    /// Somebody knows better: nothing is held against what is on the way any more, whoever asked for a pause.
    package mutating func forget(_ way: Way) {
        for part in way.parts { entries[part] = nil }
    }

    /// The same for everything.
    package mutating func forgetAll() {
        entries = [:]
    }

    // MARK: - What origins take

    /// Connections that an origin takes at once; nil where nothing is known.
    package func mostConnections(_ origin: String, now: Double) -> Int? { connections[origin]?.most(now: now) }

    /// An origin has refused one more than so many connections. Boot seconds.
    package mutating func limit(_ origin: String, to most: Int, until: Double, now: Double) {
        connections = connections.filter { $0.value.most(now: now) != nil }
        connections[origin, default: HostConnections()].limit(to: most, until: until, now: now)
    }

    /// How an origin takes uploads that nobody has said anything else of; nil where it has not shown it.
    package func uploadProtocol(of origin: String) -> UploadProtocol? { uploadProtocols[origin] }

    /// An origin has shown how it takes uploads. Tus is only used where it is asked for.
    package mutating func learn(_ uploadProtocol: UploadProtocol, of origin: String) {
        if case .tus = uploadProtocol { return }
        if uploadProtocols.count >= Self.knownUploadProtocols { uploadProtocols = [:] }
        uploadProtocols[origin] = uploadProtocol
    }

    /// Origins whose way with uploads is remembered; more than a user's apps talk to.
    package static let knownUploadProtocols = 1_000

    private mutating func note(
        _ part: Part, _ failure: TransferFailure, _ now: ClockReading, _ change: (inout HostBackoff) -> Void
    ) {
        var entry = entries[part] ?? Entry(since: now.wallSeconds, failure: failure)
        change(&entry.backoff)
        entry.failure = failure
        entries[part] = entry
    }

    /// Notes that an origin has answered somebody.
    private mutating func countAnswer(of origin: String) {
        // Before it is asked anew it has answered nothing.
        guard entries[.origin(origin)] == nil else { return }
        if answers[origin] == nil, answers.count >= Self.answeringOrigins { answers = [:] }
        answers[origin] = min((answers[origin] ?? 0) + 1, Self.countedAnswers)
    }

    /// Whether an origin has answered more than it has refused; each refusal makes that one less.
    private mutating func spendAnswer(of origin: String) -> Bool {
        guard entries[.origin(origin)] == nil, let count = answers[origin], count > 0 else { return false }
        answers[origin] = count - 1
        return true
    }

    /// As many as may be refused before anybody hears of it: as many as ask an origin at once.
    private static let countedAnswers = 6
    /// Origins whose answers are counted; a forgotten one costs a probe.
    package static let answeringOrigins = 1_000

    private mutating func succeeded(_ part: Part, began: Double) {
        entries[part]?.backoff.succeeded(began: began)
        if entries[part]?.backoff.isOpen == true { entries[part] = nil }
    }
}

extension HostTable.Way {
    fileprivate var hasKnownProxy: Bool { proxy.map { !$0.isEmpty } ?? false }
}
