import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import Location

/// Tests of location requests of running apps: the source request, and the fix that each request gets (R6).
@Suite struct FollowerTests {
    private typealias Delivery = LocationFollowers.Delivery

    private static let app = LocationScene.app
    private static let other = LocationScene.other

    private static func fix(_ east: Double = 0, accuracy: Double = 5, at time: Double) throws -> Fix {
        try #require(Fix(place: LocationScene.place(east), accuracy: accuracy, time: time))
    }

    /// Returns requests of two apps with permission, numbered from 1.
    private static func followers(_ requests: (AppID, LocationUpdateRequest)...) -> LocationFollowers {
        var followers = LocationFollowers()
        for (index, (app, request)) in requests.enumerated() {
            followers.add(index + 1, request, of: app, now: 100)
            followers.setActive(true, app, now: 100)
        }
        return followers
    }

    private static func ask(_ followers: inout LocationFollowers, at now: Double) throws -> LocationFollowers.Question {
        let question = try #require(followers.question(at: now))
        followers.ask(for: question.numbers, now: now)
        return question
    }

    @Test func `R6: One source request with the finest accuracy answers all due requests`() throws {
        var followers = Self.followers(
            (Self.app, LocationUpdateRequest(accuracy: 1_000, isOnce: true)),
            (Self.other, LocationUpdateRequest(accuracy: 10)))
        let question = try Self.ask(&followers, at: 100)
        #expect(question == LocationFollowers.Question(accuracy: 10, numbers: [1, 2]))
        let fix = try Self.fix(at: 102)
        #expect(
            followers.take(fix, now: 102) == [
                Delivery(number: 1, content: .fix(fix), isLast: true),
                Delivery(number: 2, content: .fix(fix), isLast: false),
            ])
        // The request for many locations is due again a moment later, and the request for one location is gone.
        #expect(followers.question(at: 102) == nil && followers.due == 103)
        #expect(followers.ended(now: 102) == [])
        #expect(followers.question(at: 103)?.numbers == [2])
    }

    @Test func `R6: A source request for the best accuracy asks for the finest that receivers reach`() throws {
        let followers = Self.followers((Self.app, LocationUpdateRequest(accuracy: 0)))
        #expect(followers.question(at: 100)?.accuracy == LocationUpdateRequest.finestAccuracy)
    }

    @Test func `R6: An app gets the best of several fixes that are too coarse`() throws {
        var followers = Self.followers((Self.app, LocationUpdateRequest(accuracy: 10, isOnce: true)))
        _ = try Self.ask(&followers, at: 100)
        let (coarse, better) = (try Self.fix(accuracy: 900, at: 101), try Self.fix(accuracy: 60, at: 102))
        #expect(followers.take(coarse, now: 101) == [] && followers.take(better, now: 102) == [])
        #expect(followers.take(try Self.fix(accuracy: 300, at: 103), now: 103) == [])
        #expect(followers.ended(now: 115) == [Delivery(number: 1, content: .fix(better), isLast: true)])
        #expect(followers.isIdle && followers.due == nil)
    }

    @Test func `R6: A fix that is reported late counts only if it is newer than the request`() throws {
        for (time, counts) in [(101.0, true), (80, false)] {
            var followers = Self.followers((Self.app, LocationUpdateRequest(accuracy: 10, isOnce: true)))
            _ = try Self.ask(&followers, at: 100)
            let fix = try Self.fix(accuracy: 60, at: time)
            #expect(followers.take(fix, now: 115) == [])
            #expect(followers.ended(now: 115).map(\.content) == [counts ? .fix(fix) : .failure(.unknown)])
        }
    }

    @Test func `R6: Without a fix a single request fails, and a continuous request reports that once`()
        throws
    {
        var followers = Self.followers(
            (Self.app, LocationUpdateRequest(accuracy: 10, isOnce: true)),
            (Self.app, LocationUpdateRequest(accuracy: 10)))
        _ = try Self.ask(&followers, at: 100)
        #expect(
            followers.ended(now: 115) == [
                Delivery(number: 1, content: .failure(.unknown), isLast: true),
                Delivery(number: 2, content: .failure(.unknown), isLast: false),
            ])
        #expect(followers.due == 120)
        _ = try Self.ask(&followers, at: 120)
        #expect(followers.ended(now: 135) == [] && followers.due == 145)
        _ = try Self.ask(&followers, at: 145)
        let fix = try Self.fix(at: 146)
        #expect(followers.take(fix, now: 146) == [Delivery(number: 2, content: .fix(fix), isLast: false)])
        _ = try Self.ask(&followers, at: 160)
        #expect(followers.ended(now: 175).map(\.content) == [.failure(.unknown)])
    }

    @Test func `R6: Two locations that an app gets are at least its chosen distance apart`() throws {
        var followers = Self.followers((Self.app, LocationUpdateRequest(accuracy: 10, distance: 100)))
        var given: [Double] = []
        for step in 0..<40 {
            let now = 100 + Double(step) * 5
            let fix = try Self.fix(Double(step) * 30, at: now)
            if !followers.take(fix, now: now).isEmpty { given.append(Double(step) * 30) }
        }
        #expect(given == stride(from: 0.0, to: 1_200, by: 120).map { $0 })
    }

    @Test(
        arguments: [(0, 0, 1), (350, 0, 10), (10, 700, 20), (3_000, 0, 60)] as [(Double, Double, Double)]
    ) func `R6: A request for a coarser accuracy causes fewer source requests`(
        accuracy: Double, distance: Double, pause: Double
    ) throws {
        var followers = Self.followers((Self.app, LocationUpdateRequest(accuracy: accuracy, distance: distance)))
        _ = try Self.ask(&followers, at: 100)
        _ = followers.take(try Self.fix(at: 100), now: 100)
        #expect(followers.due == 100 + pause)
    }

    @Test func `R6: A fix of 8 m changes the next request to 10 m, but a coarse fix changes nothing`() throws {
        for (accuracy, wanted) in [(8.0, 10.0), (300, 5)] {
            var followers = Self.followers((Self.app, LocationUpdateRequest(accuracy: 0)))
            _ = try Self.ask(&followers, at: 100)
            _ = followers.take(try Self.fix(accuracy: accuracy, at: 101), now: 101)
            #expect(followers.ended(now: 106).count == 1)
            #expect(followers.question(at: 110)?.accuracy == wanted)
        }
    }

    @Test func `R6: A suspended app gets no locations, and its requests continue when it runs again`() throws {
        var followers = Self.followers((Self.app, LocationUpdateRequest(accuracy: 10, distance: 1_000)))
        _ = try Self.ask(&followers, at: 100)
        #expect(followers.take(try Self.fix(at: 101), now: 101).count == 1)
        _ = try Self.ask(&followers, at: 140)
        followers.setActive(false, Self.app, now: 141)
        #expect(followers.isIdle && followers.due == nil && followers.question(at: 500) == nil)
        #expect(followers.take(try Self.fix(5_000, at: 200), now: 200) == [] && followers.ended(now: 201) == [])
        followers.setActive(true, Self.app, now: 300)
        #expect(followers.question(at: 300)?.numbers == [1])
        // The app gets this location although it is the same as before.
        #expect(followers.take(try Self.fix(at: 301), now: 301).count == 1)
    }

    @Test func `R6: A continuous request gets one refusal, and continues when permission is granted`()
        throws
    {
        var followers = LocationFollowers()
        followers.add(1, LocationUpdateRequest(accuracy: 10, isOnce: true), of: Self.app, now: 100)
        followers.add(2, LocationUpdateRequest(accuracy: 10), of: Self.app, now: 100)
        #expect(
            followers.refuse(Self.app, onlyOnce: true) == [
                Delivery(number: 1, content: .failure(.denied), isLast: true)
            ])
        #expect(
            followers.refuse(Self.app, onlyOnce: false) == [
                Delivery(number: 2, content: .failure(.denied), isLast: false)
            ])
        #expect(
            followers.refuse(Self.app, onlyOnce: false) == [] && followers.refuse(Self.other, onlyOnce: false) == [])
        followers.setActive(true, Self.app, now: 101)
        followers.setActive(false, Self.app, now: 102)
        #expect(followers.refuse(Self.app, onlyOnce: false).count == 1)
    }

    @Test func `R6: A new request shares a running source request that is fine enough`() throws {
        var followers = Self.followers((Self.app, LocationUpdateRequest(accuracy: 100, isOnce: true)))
        let first = try Self.ask(&followers, at: 100)
        for (number, accuracy) in [(2, 500.0), (3, 10)] {
            followers.add(number, LocationUpdateRequest(accuracy: accuracy, isOnce: true), of: Self.other, now: 101)
        }
        followers.setActive(true, Self.other, now: 101)
        let second = try #require(followers.question(at: 101))
        #expect(followers.joining(second, accuracy: first.accuracy) == [2])
        followers.ask(for: [2], now: 101)
        #expect(followers.ended(now: 115).map(\.number) == [1, 2])
        #expect(followers.question(at: 115)?.numbers == [3])
    }

    // MARK: - Random walks

    @Test(arguments: 0..<40) func `R6: In random walks every request gets exactly the locations that it asked for`(
        seed: Int
    ) throws {
        var walk = FollowerWalk(seed: UInt64(seed))
        for _ in 0..<1_000 { try walk.step() }
        try walk.settle()
        #expect(walk.mistakes == [], "seed \(seed)")
        #expect(walk.deliveries > 20, "seed \(seed)")
    }
}
