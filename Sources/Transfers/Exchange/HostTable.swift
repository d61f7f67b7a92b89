package import NightshiftAPI

/// The troubles of origins, of the ways to them, and of proxies, as long as there are any.
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

        /// The parts of a way that can be in trouble.
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

    /// The trouble that a task on this way waits for; nil where there is none.
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
    ///   - refusedUntil: for ``Blame/origin``: boot seconds until which the server asked to be left alone.
    ///   - random: 0..<1.
    package mutating func failed(
        _ way: Way, _ blame: Blame, _ failure: TransferFailure, began: Double, refusedUntil: Double?, now: ClockReading,
        random: Double
    ) {
        let time = now.bootSeconds
        for part in way.parts {
            switch (blame, part) {
            case (.proxy, .proxy), (.address, .way):
                note(part, failure, now) { $0.failed(began: began, at: time, random: random) }
            // A proxy of the environment is known by the ways through it alone.
            case (.proxy, .way) where !way.hasKnownProxy:
                note(part, failure, now) { $0.failed(began: began, at: time, random: random) }
            case (.origin, .origin):
                note(part, failure, now) { $0.refused(until: refusedUntil ?? time, at: time) }
            case (.address, .proxy), (.origin, .way), (.origin, .proxy), (.request, _): succeeded(part)
            case (.proxy, _), (.address, .origin), (.nobody, _): entries[part]?.backoff.abandoned(began: began)
            }
        }
    }

    /// The origin has answered.
    ///
    /// - Returns: whether others may start that could not.
    package mutating func answered(_ way: Way) -> Bool {
        let before = entries.count
        for part in way.parts { succeeded(part) }
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

    /// Removes the troubles of all parts of a way, pauses that servers asked for included.
    package mutating func forget(_ way: Way) {
        for part in way.parts { entries[part] = nil }
    }

    /// The same for everything.
    package mutating func forgetAll() {
        entries = [:]
    }

    private mutating func note(
        _ part: Part, _ failure: TransferFailure, _ now: ClockReading, _ change: (inout HostBackoff) -> Void
    ) {
        var entry = entries[part] ?? Entry(since: now.wallSeconds, failure: failure)
        change(&entry.backoff)
        entry.failure = failure
        entries[part] = entry
    }

    private mutating func succeeded(_ part: Part) {
        entries[part]?.backoff.succeeded()
        if entries[part]?.backoff.isOpen == true { entries[part] = nil }
    }
}

extension HostTable.Way {
    fileprivate var hasKnownProxy: Bool { proxy.map { !$0.isEmpty } ?? false }
}
