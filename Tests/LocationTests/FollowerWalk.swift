import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import Location

/// Apps that request the location, run and are suspended at random, and sources that answer well, badly or not at all.
struct FollowerWalk {
    private struct Request {
        var app: AppID
        var wanted: LocationUpdateRequest
        var fixes: [Fix] = []
        var isOver = false
    }

    private static let apps = (0..<3).map { AppID(rawValue: "org.example.App\($0)") }

    private var random: SplitMix64
    private var followers = LocationFollowers()
    private var requests: [Int: Request] = [:]
    private var active: Set<AppID> = []
    private var now = 1_000.0
    private var east = 0.0
    private var question: LocationFollowers.Question?
    private var questionBegin = 0.0
    private(set) var mistakes: [String] = []
    private(set) var deliveries = 0

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    private mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: 0..<values.count, using: &random)]
    }

    mutating func step() throws {
        let app = pick(Self.apps)
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
            let number = requests.count + 1
            let wanted = LocationUpdateRequest(
                accuracy: pick([0, 10, 100, 1_000]), distance: pick([0, 0, 50, 500]), isOnce: pick([true, false]))
            requests[number] = Request(app: app, wanted: wanted)
            followers.add(number, wanted, of: app, now: now)
            followers.setActive(active.contains(app), app, now: now)
        case 1:
            guard let number = requests.filter({ !$0.value.isOver }).keys.sorted().first else { return }
            requests[number]?.isOver = true
            followers.remove(number)
        case 2:
            if active.contains(app) { active.remove(app) } else { active.insert(app) }
            for number in requests.keys where requests[number]?.app == app { requests[number]?.fixes = [] }
            followers.setActive(active.contains(app), app, now: now)
        case 3:
            guard !active.contains(app) else { return }
            judge(followers.refuse(app, onlyOnce: pick([true, false])))
        case 4: try fix(accuracy: pick([4, 8, 40, 90, 2_000]))
        case 5: end()
        case 6:
            if question != nil { followers.interrupted() }
            question = nil
        default:
            now += pick([0.5, 1, 4, 15])
            east += pick([0, 2, 60, 700])
        }
        ask()
    }

    /// Makes the sources answer every request from now on.
    mutating func settle() throws {
        for app in Self.apps where !active.contains(app) {
            active.insert(app)
            for number in requests.keys where requests[number]?.app == app { requests[number]?.fixes = [] }
            followers.setActive(true, app, now: now)
        }
        for _ in 0..<100 {
            ask()
            try fix(accuracy: 4)
            end()
            now += 1
        }
        for (number, request) in requests where request.wanted.isOnce && !request.isOver {
            mistakes.append("request \(number) for one place was never answered")
        }
        for (number, request) in requests where !request.isOver && request.fixes.isEmpty {
            mistakes.append("request \(number) for many places was given none")
        }
    }

    private mutating func ask() {
        guard question == nil, let next = followers.question(at: now) else { return }
        let wanting = next.numbers.compactMap { requests[$0] }
        if wanting.contains(where: { $0.isOver || !active.contains($0.app) }) {
            mistakes.append("a question is for nobody")
        }
        // Even if an app wants more, the accuracy that a receiver has reached suffices, up to 50 m plus a quarter.
        if let finest = wanting.map(\.wanted.accuracy).min(), next.accuracy > max(finest, 62.5) {
            mistakes.append("a question asks for \(next.accuracy) m, and \(finest) m are wanted")
        }
        question = next
        questionBegin = now
        followers.ask(for: next.numbers, now: now)
    }

    private mutating func fix(accuracy: Double) throws {
        // The best fix of a request, reported at its end, may be as old as the request.
        let age = question == nil ? 0 : (now - questionBegin) * pick([0, 0, 0.5, 1])
        let fix = try #require(Fix(place: LocationScene.place(east), accuracy: accuracy, time: now - age))
        judge(followers.take(fix, now: now))
    }

    private mutating func end() {
        guard question != nil else { return }
        question = nil
        judge(followers.ended(now: now))
    }

    private mutating func judge(_ answers: [LocationFollowers.Delivery]) {
        for answer in answers {
            deliveries += 1
            guard let request = requests[answer.number], !request.isOver else {
                mistakes.append("an answer to request \(answer.number), which is over")
                continue
            }
            if answer.isLast != request.wanted.isOnce { mistakes.append("a stream ends with the wrong answer") }
            if answer.isLast { requests[answer.number]?.isOver = true }
            switch answer.content {
            case .fix(let fix):
                if !active.contains(request.app) { mistakes.append("a suspended app is given a place") }
                if let last = request.fixes.last {
                    if fix.time <= last.time { mistakes.append("a place is older than the one before") }
                    if last.place.distance(to: fix.place) < request.wanted.distance {
                        mistakes.append("a place is too near to the one before")
                    }
                }
                requests[answer.number]?.fixes.append(fix)
            case .failure(.unknown):
                if !active.contains(request.app) { mistakes.append("a suspended app hears that nothing is known") }
            case .failure(.denied): if active.contains(request.app) { mistakes.append("an allowed app is refused") }
            }
        }
    }
}
