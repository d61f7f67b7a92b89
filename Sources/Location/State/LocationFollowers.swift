import Foundation
import NightshiftAPI

/// Location requests of running apps (`requestLocation`, `startUpdatingLocation`): the fix that one source request asks
/// for, and the app requests that get it.
///
/// It is a pure value. Times are boot seconds. A request is active while its app runs and has permission; otherwise it
/// waits.
struct LocationFollowers: Hashable, Sendable {
    /// A result for one request.
    struct Delivery: Hashable, Sendable {
        enum Content: Hashable, Sendable {
            case fix(Fix)
            case failure(LocationUpdate.Failure)
        }

        var number: Int
        var content: Content
        /// Whether it is the last one, because the request was for one location.
        var isLast: Bool
    }

    /// A request to the sources, for all app requests that are due.
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
        /// The time of the next fix that is wanted.
        var due: Double
        /// The time of the last source request for it.
        var askedAt = -Double.infinity
        /// The last fix that it got since it became active.
        var given: Fix?
        /// The best fix of the source request under way that is less accurate than wanted.
        var candidate: Fix?
        /// The accuracy in metres that the sources reached last, if it was worse than wanted but still fine.
        var reached: Double?
        /// The number of consecutive source requests without a fix.
        var failures = 0

        /// The accuracy in metres to wait for. If the sources have just reached a slightly worse one than wanted, that
        /// one is enough.
        var accuracy: Double {
            let slack = reached.map { $0 * (1 + LocationFollowers.slack) } ?? 0
            return max(request.accuracy, LocationUpdateRequest.finestAccuracy, slack)
        }

        /// The seconds until the next source request. In less time a car does not move by the distance that the app
        /// wants to notice.
        var pause: Double {
            let metres = max(request.accuracy, request.distance)
            return min(max(metres / LocationFollowers.speed, LocationFollowers.shortest), LocationFollowers.longest)
        }
    }

    private var followers: [Int: Follower] = [:]
    /// The app requests that the source request under way is for and that have no result yet.
    private var asked: Set<Int> = []

    /// The assumed speed in metres per second: a fast car.
    private static let speed = 35.0
    /// The shortest and the longest interval between two source requests, in seconds.
    private static let shortest = 1.0
    private static let longest = 60.0
    /// The seconds before the next source request after one without a fix; doubled by each, up to ``longest``.
    private static let pauseWithoutFix = 5.0
    /// The seconds by which a shared source request may be too early for an app request.
    private static let sharing = 0.5
    /// The seconds for which a fix counts as current.
    private static let freshness = 5.0
    /// The fraction by which the next fix of the same source may be worse.
    private static let slack = 0.25
    /// The limit of fine accuracy in metres. A coarser fix may become much better with another source, so it is not
    /// taken for the best possible.
    private static let fine = 50.0

    // MARK: - Requests

    /// Adds a request, which waits until ``setActive(_:_:now:)`` activates it.
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

    /// Activates or pauses the requests of an app, which runs with permission now, or no longer.
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

    /// Reports missing permission to the app, once. A request for one location ends with it.
    ///
    /// - Parameter onlyOnce: whether only requests for one location are refused. The others wait, because the user has
    ///   not answered.
    mutating func refuse(_ app: AppID, onlyOnce: Bool) -> [Delivery] {
        numbers(where: { $0.app == app && !$0.isRefused && ($0.request.isOnce || !onlyOnce) }).map { number in
            followers[number]?.isRefused = true
            return deliver(.failure(.denied), to: number)
        }
    }

    // MARK: - Requests to the sources

    /// The time of the next source request; nil if all active requests are part of the one under way.
    var due: Double? {
        followers.filter { $0.value.isActive && !asked.contains($0.key) }.map(\.value.due).min()
    }

    /// Returns the fix to request from the sources now; nil if none is wanted. The result stays the same until a fix or
    /// the end of the source request satisfies it.
    func question(at now: Double) -> Question? {
        guard followers.values.contains(where: { $0.isActive && $0.due <= now }) else { return nil }
        let wanting = followers.filter { $0.value.isActive && $0.value.due <= now + Self.sharing }
        guard let accuracy = wanting.values.map(\.accuracy).min() else { return nil }
        return Question(accuracy: accuracy, numbers: Set(wanting.keys))
    }

    /// Returns the app requests that the source request under way, with the given accuracy, also satisfies.
    func joining(_ question: Question, accuracy: Double) -> Set<Int> {
        question.numbers.subtracting(asked).filter { followers[$0].map { $0.accuracy >= accuracy } ?? false }
    }

    /// Marks these requests as part of the source request under way.
    mutating func ask(for numbers: Set<Int>, now: Double) {
        asked.formUnion(numbers)
        for number in numbers { followers[number]?.askedAt = now }
    }

    func apps(of numbers: Set<Int>) -> Set<AppID> { Set(numbers.compactMap { followers[$0]?.app }) }

    // MARK: - Results

    /// Handles a fix of a source. The same fix may be given again.
    mutating func take(_ fix: Fix, now: Double) -> [Delivery] {
        numbers(where: \.isActive).compactMap { number in
            guard let follower = followers[number], follower.given.map({ fix.time > $0.time }) ?? true else {
                return nil
            }
            // The sources report the best fix at the end of a request, however early it was measured.
            let begin = asked.contains(number) ? min(follower.askedAt, now) : now
            guard fix.time >= begin - Self.freshness else { return nil }
            if fix.accuracy <= follower.accuracy { return accept(fix, number, now: now) }
            if asked.contains(number), fix.accuracy <= follower.candidate?.accuracy ?? .infinity {
                followers[number]?.candidate = fix
            }
            return nil
        }
    }

    /// Ends the source request under way: its app requests get the best fix, however coarse, or fail.
    mutating func ended(now: Double) -> [Delivery] {
        defer { asked = [] }
        return asked.sorted().compactMap { number in
            guard let follower = followers[number] else { return nil }
            if let fix = follower.candidate { return accept(fix, number, now: now) }
            return fail(number, follower, now: now)
        }
    }

    /// Handles the end of a source request that may have belonged to an earlier, cancelled one. The request is
    /// repeated.
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
        // A repeated fix is as old as before, and no failure.
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

    /// Returns the combined requests of an app; nil if it has none. `since` is in boot seconds.
    func summary(of app: AppID) -> (accuracy: Double, since: Double, isOn: Bool)? {
        let own = followers.values.filter { $0.app == app }
        guard let accuracy = own.map(\.request.accuracy).min(), let since = own.map(\.since).min() else { return nil }
        return (max(accuracy, LocationUpdateRequest.finestAccuracy), since, own.contains(where: \.isActive))
    }
}
