import Foundation
import NightshiftAPI

/// The requests of running apps for the place of the device (`requestLocation`, `startUpdatingLocation`): what one question to the
/// sources asks for, and which request is given which fix.
///
/// Pure. Times are on the clock of fixes. A request is active while its app runs and may learn the place; else it waits.
struct LocationFollowers: Hashable, Sendable {
    /// An answer to one request.
    struct Delivery: Hashable, Sendable {
        enum Content: Hashable, Sendable {
            case fix(Fix)
            case failure(LocationUpdate.Failure)
        }

        var number: Int
        var content: Content
        /// Whether it is the last one: the request was for one place.
        var isLast: Bool
    }

    /// A question to the sources, for every request that is due.
    struct Question: Hashable, Sendable {
        /// Metres.
        var accuracy: Double
        var numbers: Set<Int>
    }

    private struct Follower: Hashable {
        var app: AppID
        var request: LocationUpdateRequest
        var since: Double
        var isActive = false
        /// Whether the app was told that it may not.
        var isRefused = false
        /// When a fix is wanted next.
        var due: Double
        /// When the sources were asked for it last.
        var askedAt = -Double.infinity
        /// The last fix that it was given since it became active.
        var given: Fix?
        /// The best fix of the question under way that is less accurate than wanted.
        var candidate: Fix?
        /// Metres: what the sources came to last, where that is less than wanted and still fine.
        var reached: Double?
        /// Questions without a fix, one after the other.
        var failures = 0

        /// Metres. Sources that have just come to a little less than wanted are not waited for to become better.
        var accuracy: Double {
            let slack = reached.map { $0 * (1 + LocationFollowers.slack) } ?? 0
            return max(request.accuracy, LocationUpdateRequest.finestAccuracy, slack)
        }

        /// Seconds until the next question: in less, a car does not move by what the app wants to notice.
        var pause: Double {
            let metres = max(request.accuracy, request.distance)
            return min(max(metres / LocationFollowers.speed, LocationFollowers.shortest), LocationFollowers.longest)
        }
    }

    private var followers: [Int: Follower] = [:]
    /// The requests that the question under way is for and that it has not satisfied yet.
    private var asked: Set<Int> = []

    /// Metres in a second: a fast car.
    private static let speed = 35.0
    /// Seconds between two questions, at least and at most.
    private static let shortest = 1.0
    private static let longest = 60.0
    /// Seconds until the next question after one without a fix, doubled with each up to ``longest``.
    private static let pauseWithoutFix = 5.0
    /// Seconds by which a question may come too early for a request that shares it.
    private static let sharing = 0.5
    /// Seconds for which a fix says where the device is now.
    private static let freshness = 5.0
    /// The part by which the next fix of the same source may be worse.
    private static let slack = 0.25
    /// Metres: what is coarser may become much better with another source, and is not taken for what the sources can.
    private static let fine = 50.0

    // MARK: - Requests

    /// Adds a request, which waits for ``setActive(_:_:now:)``.
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

    /// The app runs and may learn the place from now on, or not.
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

    /// The user does not allow it: the app hears that once, and a request for one place is over.
    ///
    /// - Parameter onlyOnce: whether requests for many places wait, for the user has not answered.
    mutating func refuse(_ app: AppID, onlyOnce: Bool) -> [Delivery] {
        numbers(where: { $0.app == app && !$0.isRefused && ($0.request.isOnce || !onlyOnce) }).map { number in
            followers[number]?.isRefused = true
            return deliver(.failure(.denied), to: number)
        }
    }

    // MARK: - Questions

    /// When the next question is wanted; nil where no request waits for one that is not under way.
    var due: Double? {
        followers.filter { $0.value.isActive && !asked.contains($0.key) }.map(\.value.due).min()
    }

    /// The fix that is wanted of the sources now; nil where none is. It stays the same until a fix or the question's end
    /// satisfies it.
    func question(at now: Double) -> Question? {
        guard followers.values.contains(where: { $0.isActive && $0.due <= now }) else { return nil }
        let wanting = followers.filter { $0.value.isActive && $0.value.due <= now + Self.sharing }
        guard let accuracy = wanting.values.map(\.accuracy).min() else { return nil }
        return Question(accuracy: accuracy, numbers: Set(wanting.keys))
    }

    /// The requests of a question that the one under way, of another accuracy, answers as well.
    func joining(_ question: Question, accuracy: Double) -> Set<Int> {
        question.numbers.subtracting(asked).filter { followers[$0].map { $0.accuracy >= accuracy } ?? false }
    }

    /// The sources are asked for these.
    mutating func ask(for numbers: Set<Int>, now: Double) {
        asked.formUnion(numbers)
        for number in numbers { followers[number]?.askedAt = now }
    }

    func apps(of numbers: Set<Int>) -> Set<AppID> { Set(numbers.compactMap { followers[$0]?.app }) }

    // MARK: - Answers

    /// A source has told a place. May be called again for one that was told before.
    mutating func take(_ fix: Fix, now: Double) -> [Delivery] {
        numbers(where: \.isActive).compactMap { number in
            guard let follower = followers[number], follower.given.map({ fix.time > $0.time }) ?? true else {
                return nil
            }
            // The sources tell the best of a question at its end, however early it came.
            let begin = asked.contains(number) ? min(follower.askedAt, now) : now
            guard fix.time >= begin - Self.freshness else { return nil }
            if fix.accuracy <= follower.accuracy { return accept(fix, number, now: now) }
            if asked.contains(number), fix.accuracy <= follower.candidate?.accuracy ?? .infinity {
                followers[number]?.candidate = fix
            }
            return nil
        }
    }

    /// The question under way has ended: its requests are given the best fix that came, however coarse, or fail.
    mutating func ended(now: Double) -> [Delivery] {
        defer { asked = [] }
        return asked.sorted().compactMap { number in
            guard let follower = followers[number] else { return nil }
            if let fix = follower.candidate { return accept(fix, number, now: now) }
            return fail(number, follower, now: now)
        }
    }

    /// The question under way has ended for another reason than its own: it is asked again.
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
        // The same place again is as old as before, and no trouble.
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

    /// In an order that is the same everywhere: that in which the requests came.
    private func numbers(where isWanted: (Follower) -> Bool) -> [Int] {
        followers.filter { isWanted($0.value) }.keys.sorted()
    }

    // MARK: - What is shown

    /// An app's requests as one; nil where it has none. `since` is on the clock of fixes.
    func summary(of app: AppID) -> (accuracy: Double, since: Double, isOn: Bool)? {
        let own = followers.values.filter { $0.app == app }
        guard let accuracy = own.map(\.request.accuracy).min(), let since = own.map(\.since).min() else { return nil }
        return (max(accuracy, LocationUpdateRequest.finestAccuracy), since, own.contains(where: \.isActive))
    }
}
