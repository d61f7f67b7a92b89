import Device
import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests with a real gpsd, whose receiver gpsfake simulates.
@Suite(.timeLimit(.minutes(20))) struct GpsdTests {
    private static let start = (latitude: 52.52, longitude: -13.405)

    /// A walk to the north for one minute, and back.
    private static let walk = (0..<120).map { second in
        (latitude: start.latitude + Double(min(second, 120 - second)) * 1.4 / 111_195, longitude: start.longitude)
    }

    @Test func `R6: The provider delivers a fix once and releases the receiver`() async throws {
        let receiver = try FakeReceiver(walk: Self.walk)
        try await receiver.start()
        let watched = try WatchedSources(gpsd: receiver.port)
        try await watched.waitForSources("the receiver") { $0["gpsd"]?.isAvailable == true }
        #expect(watched.last?.regions == true)
        #expect(watched.last?.changes == false, "a receiver alone tells no significant changes")
        let before = Double(DispatchTime.now().uptimeNanoseconds) / 1e9
        watched.sources.want(FixDemand(fix: 30))
        try await watched.waitForEnd(of: 1)
        let (fix, source) = try #require(watched.fixes.first)
        let beginning = try #require(Coordinate(latitude: Self.start.latitude, longitude: Self.start.longitude))
        #expect(source == "gpsd")
        #expect(fix.place.distance(to: beginning) < 90, "\(fix)")
        #expect(fix.accuracy == FakeReceiver.accuracy)
        #expect(fix.time >= before, "the time of its receipt, since boot")
        #expect(try #require(watched.receiver.first) > 0)
        // The next fix needs another request, at another point of the walk.
        watched.sources.want(FixDemand(fix: 30))
        try await watched.waitForEnd(of: 2)
        #expect(watched.fixes.count == 2)
        #expect(watched.fixes.last.map { $0.fix.time > fix.time } == true)
    }

    @Test func `R6: A request continues with a gpsd that ends and returns`() async throws {
        let receiver = try FakeReceiver(walk: Self.walk)
        try await receiver.start()
        let watched = try WatchedSources(gpsd: receiver.port)
        watched.sources.want(FixDemand(fix: 30))
        try await watched.waitForEnd(of: 1)
        // gpsd never reaches this accuracy, so the request is still in progress when gpsd ends.
        watched.sources.want(FixDemand(fix: 1))
        receiver.stop()
        try await watched.waitForSources("its end") { $0["gpsd"]?.isAvailable == false }
        let sentence = try #require(watched.last?.statuses.first { $0.name == "gpsd" }?.sentence)
        #expect(sentence.contains("127.0.0.1:\(receiver.port)") && sentence.contains("apt install gpsd"))
        try await receiver.start()
        try await watched.waitForSources("its return") { $0["gpsd"]?.isAvailable == true }
        watched.sources.want(FixDemand(fix: 30))
        try await watched.waitForEnd(of: 2)
        #expect(watched.fixes.count == 2)
    }

    @Test func `R6: A request without any source ends at once, and the next one finds a new source`()
        async throws
    {
        let receiver = try FakeReceiver(walk: Self.walk)
        let watched = try WatchedSources(gpsd: receiver.port)
        watched.sources.want(FixDemand(fix: 30))
        try await watched.waitForEnd(of: 1)
        #expect(watched.fixes.isEmpty && watched.receiver == [0])
        try await watched.wait(for: "the sources") { $0.compactMap(\.sources).last?.regions == false }
        try await receiver.start()
        watched.sources.want(FixDemand())
        try await watched.waitForSources("the receiver") { $0["gpsd"]?.isAvailable == true }
    }

    @Test func `R6: Withdrawing the demand for a fix ends the request, and shutdown ends the stream`() async throws {
        // This receiver sends a sentence in 7 s, so that no fix arrives before the demand is withdrawn.
        let receiver = try FakeReceiver(walk: Self.walk, speed: 0.05)
        try await receiver.start()
        let watched = try WatchedSources(gpsd: receiver.port)
        watched.sources.want(FixDemand(fix: 1))
        try await watched.waitForSources("the receiver") { $0["gpsd"]?.isAvailable == true }
        watched.sources.want(FixDemand())
        try await watched.waitForEnd(of: 1)
        #expect(watched.fixes.isEmpty)
        watched.sources.shutdown()
        try await watched.hasEnded.wait(for: "the end of the updates") { $0 }
    }
}
