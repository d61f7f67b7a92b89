import Foundation
import NightshiftAPI

/// The location requests of running apps (`requestLocation`, `startUpdatingLocation`). They determine the fix for the
/// next source request, and which app requests get that fix.
///
/// A pure value. Times are boot seconds. A request is active while its app runs and has permission. Otherwise it waits.
struct LocationFollowers: Hashable, Sendable {
    /// A result for one app request.
    struct Delivery: Hashable, Sendable {
        enum Content: Hashable, Sendable {
            case fix(Fix)
            case failure(LocationUpdate.Failure)
        }

        var number: Int
        var content: Content
        /// Whether the request ends with this result, because it was for one location.
        var isLast: Bool
    }

    /// A request to the sources, made for all app requests that are due.
    struct Question: Hashable, Sendable {
        /// The wanted accuracy in metres.
        var accuracy: Double
        var numbers: Set<Int>
    }

    private struct Follower: Hashable {
        var app: AppID
        var request: LocationUpdateRequest
        var since: Double
        var isActive = false
        /// Whether the app was notified that it has no permission.
        var isRefused = false
        /// The time at which the request needs its next fix.
        var due: Double
        /// The time of the last source request made for this app request.
        var askedAt = -Double.infinity
        /// The last fix delivered since the request became active.
        var given: Fix?
        /// The best fix of the current source request that is less accurate than wanted.
        var candidate: Fix?
        /// The accuracy in metres that the sources reached last, if it was worse than the wanted accuracy but still
        /// fine.
        var reached: Double?
        /// The number of consecutive source requests without a fix.
        var failures = 0

        /// The accuracy in metres to wait for. If the sources have just reached an accuracy slightly worse than wanted,
        /// that accuracy is enough.
        var accuracy: Double {
            let slack = reached.map { $0 * (1 + LocationFollowers.slack) } ?? 0
            return max(request.accuracy, LocationUpdateRequest.finestAccuracy, slack)
        }

        /// The number of seconds until the next source request. In a shorter time, a car does not move as far as the
        /// app wants to notice.
        var pause: Double {
            let metres = max(request.accuracy, request.distance)
            return min(max(metres / LocationFollowers.speed, LocationFollowers.shortest), LocationFollowers.longest)
        }
    }

    private var followers: [Int: Follower] = [:]
    /// The numbers of app requests that the current source request serves and that have no result yet.
    private var asked: Set<Int> = []

    /// The assumed maximum speed in metres per second: that of a fast car.
    private static let speed = 35.0
    /// The shortest and the longest interval between two source requests, in seconds.
    private static let shortest = 1.0
    private static let longest = 60.0
    /// The number of seconds before the next source request after one without a fix. Each further one without a fix
    /// doubles it, up to ``longest``.
    private static let pauseWithoutFix = 5.0
    /// The number of seconds before an app request is due in which it can share a source request.
    private static let sharing = 0.5
    /// The number of seconds for which a fix counts as current.
    private static let freshness = 5.0
    /// The fraction by which the next fix of the same source may be less accurate than the last one.
    private static let slack = 0.25
    /// The limit of fine accuracy in metres. Another source may improve a coarser fix a lot, so a coarser fix does not
    /// count as the best possible.
    private static let fine = 50.0

    // MARK: - Requests

    /// Adds a request. It waits until ``setActive(_:_:now:)`` activates it.
    mutating func add(_ number: Int, _ request: LocationUpdateRequest, of app: AppID, now: Double) {
        followers[number] = Follower(app: app, request: request, since: now, due: now)
    }

    mutating func remove(_ number: Int) {
        followers[number] = nil
        asked.remove(number)
    }

    func count(of app: AppID) -> Int { followers.values.count { $0.app == app } }

    /// Whether no request is active.
    var isIdle: Bool { !followers.values.contains(where: \.isActive) }

    /// Activates the requests of an app if it runs with permission, or pauses them.
    mutating func setActive(_ isActive: Bool, _ app: AppID, now: Double) {
        for (number, follower) in followers where follower.app == app && follower.isActive != isActive {
            followers[number]?.isActive = isActive
            followers[number]?.candidate = nil
            asked.remove(number)
            guard isActive else { continue }
            followers[number]?.isRefused = false
            followers[number]?.given = nil
            followers[number]?.failures = 0
            followers[number]?.due = now
        }
    }

    /// Returns the results that report missing permission to an app, each only once. A request for one location ends
    /// with this result.
    ///
    /// - Parameter onlyOnce: whether to refuse only requests for one location. The other requests then wait, because
    ///   the user has not answered yet.
    mutating func refuse(_ app: AppID, onlyOnce: Bool) -> [Delivery] {
        numbers(where: { $0.app == app && !$0.isRefused && ($0.request.isOnce || !onlyOnce) }).map { number in
            followers[number]?.isRefused = true
            return deliver(.failure(.denied), to: number)
        }
    }

    // MARK: - Requests to the sources

    /// The time of the next source request; nil if the current source request serves all active app requests.
    var due: Double? {
        followers.filter { $0.value.isActive && !asked.contains($0.key) }.map(\.value.due).min()
    }

    /// Returns the source request to make now; nil if no fix is needed. The result stays the same until a fix or the
    /// end of a source request satisfies it.
    func question(at now: Double) -> Question? {
        guard followers.values.contains(where: { $0.isActive && $0.due <= now }) else { return nil }
        let wanting = followers.filter { $0.value.isActive && $0.value.due <= now + Self.sharing }
        guard let accuracy = wanting.values.map(\.accuracy).min() else { return nil }
        return Question(accuracy: accuracy, numbers: Set(wanting.keys))
    }

    /// Returns the app requests that the current source request, which has this accuracy, also satisfies.
    func joining(_ question: Question, accuracy: Double) -> Set<Int> {
        question.numbers.subtracting(asked).filter { followers[$0].map { $0.accuracy >= accuracy } ?? false }
    }

    /// Records that the current source request serves these app requests.
    mutating func ask(for numbers: Set<Int>, now: Double) {
        asked.formUnion(numbers)
        for number in numbers { followers[number]?.askedAt = now }
    }

    func apps(of numbers: Set<Int>) -> Set<AppID> { Set(numbers.compactMap { followers[$0]?.app }) }

    // MARK: - Results

    /// Handles a fix of a source, and returns the results. The same fix may be passed again.
    mutating func take(_ fix: Fix, now: Double) -> [Delivery] {
        numbers(where: \.isActive).compactMap { number in
            guard let follower = followers[number], follower.given.map({ fix.time > $0.time }) ?? true else {
                return nil
            }
            // At the end of a request the sources report the best fix, even if it was measured early.
            let begin = asked.contains(number) ? min(follower.askedAt, now) : now
            guard fix.time >= begin - Self.freshness else { return nil }
            if fix.accuracy <= follower.accuracy { return accept(fix, number, now: now) }
            if asked.contains(number), fix.accuracy <= follower.candidate?.accuracy ?? .infinity {
                followers[number]?.candidate = fix
            }
            return nil
        }
    }

    /// Handles the end of the current source request: its app requests get the best fix, however coarse, or fail.
    mutating func ended(now: Double) -> [Delivery] {
        defer { asked = [] }
        return asked.sorted().compactMap { number in
            guard let follower = followers[number] else { return nil }
            if let fix = follower.candidate { return accept(fix, number, now: now) }
            return fail(number, follower, now: now)
        }
    }

    /// Handles the end of a source request that may have been an earlier, cancelled one. The request is repeated.
    mutating func interrupted() {
        asked = []
    }

    private mutating func accept(_ fix: Fix, _ number: Int, now: Double) -> Delivery? {
        guard let follower = followers[number] else { return nil }
        asked.remove(number)
        guard !follower.request.isOnce else { return deliver(.fix(fix), to: number) }
        let isLess = fix.accuracy > max(follower.request.accuracy, LocationUpdateRequest.finestAccuracy)
        followers[number]?.candidate = nil
        followers[number]?.reached = isLess && fix.accuracy <= Self.fine ? fix.accuracy : nil
        followers[number]?.failures = 0
        followers[number]?.due = now + follower.pause
        if let given = follower.given, given.place.distance(to: fix.place) < follower.request.distance { return nil }
        followers[number]?.given = fix
        return deliver(.fix(fix), to: number)
    }

    private mutating func fail(_ number: Int, _ follower: Follower, now: Double) -> Delivery? {
        // A repeated fix is as old as before, but it does not count as a failure.
        guard follower.failures > 0 || follower.given.map({ now - $0.time > Self.freshness }) ?? true else {
            followers[number]?.due = now + follower.pause
            return nil
        }
        followers[number]?.failures += 1
        followers[number]?.reached = nil
        let pause = Self.pauseWithoutFix * pow(2, Double(min(follower.failures, 8)))
        followers[number]?.due = now + min(pause, Self.longest)
        return follower.failures == 0 ? deliver(.failure(.unknown), to: number) : nil
    }

    private mutating func deliver(_ content: Delivery.Content, to number: Int) -> Delivery {
        let isLast = followers[number]?.request.isOnce ?? true
        if isLast { remove(number) }
        return Delivery(number: number, content: content, isLast: isLast)
    }

    /// Returns the numbers of requests in the order in which they were made.
    private func numbers(where isWanted: (Follower) -> Bool) -> [Int] {
        followers.filter { isWanted($0.value) }.keys.sorted()
    }

    // MARK: - Status

    /// Returns the combined requests of an app; nil if the app has no requests. `since` is in boot seconds.
    func summary(of app: AppID) -> (accuracy: Double, since: Double, isOn: Bool)? {
        let own = followers.values.filter { $0.app == app }
        guard let accuracy = own.map(\.request.accuracy).min(), let since = own.map(\.since).min() else { return nil }
        return (max(accuracy, LocationUpdateRequest.finestAccuracy), since, own.contains(where: \.isActive))
    }
}
