import NightshiftAPI
import Testing
import Transfers

@Suite struct SegmentEligibilityTests {
    static let mebibyte: Int64 = 1 << 20

    static func obstacle(
        method: String = "GET", head response: ResponseHead = head(200, ["Accept-Ranges": "bytes"]),
        total: Int64? = 64 * mebibyte, tag: String? = "\"a\"", modified: String? = nil, count: Int64 = 0
    ) -> SegmentEligibility.Obstacle? {
        let validators = Validators(entityTag: tag, lastModified: modified, date: serverDate)
        return SegmentEligibility.obstacle(
            method: method, head: response,
            representation: Representation(validators: validators, total: total, acceptsRanges: true), count: count)
    }

    @Test func `Each unmet requirement for segments is named as an obstacle`() {
        #expect(Self.obstacle() == nil)
        #expect(Self.obstacle(head: head(206)) == nil)
        #expect(Self.obstacle(tag: nil, modified: oldDate) == nil)
        #expect(Self.obstacle(method: "POST") == .method)
        #expect(Self.obstacle(total: nil) == .unknownLength)
        #expect(Self.obstacle(tag: "W/\"a\"") == .noStrongValidator)
        #expect(Self.obstacle(tag: nil, modified: serverDate) == .noStrongValidator)
        #expect(Self.obstacle(head: head(200)) == .rangesNotProven)
        #expect(Self.obstacle(head: head(200, ["Accept-Ranges": "none"])) == .rangesNotProven)
        #expect(Self.obstacle(head: head(200, ["Accept-Ranges": "bytes", "Content-Encoding": "gzip"])) == .encoded)
        #expect(Self.obstacle(count: 60 * Self.mebibyte) == nil)
        #expect(Self.obstacle(count: 60 * Self.mebibyte + 1) == .tooLittleLeft)
    }

    @Test func `Every obstacle has its own sentence`() {
        for obstacle in SegmentEligibility.Obstacle.allCases { #expect(obstacle.sentence.hasSuffix(".")) }
        #expect(Set(SegmentEligibility.Obstacle.allCases.map(\.sentence)).count == 6)
    }

    @Test func `The connection limits of a host expire`() {
        var host = HostConnections()
        #expect(host.most(now: 0) == nil)
        host.limit(to: 4, until: 100, now: 0)
        host.limit(to: 2, until: 50, now: 10)
        host.limit(to: 3, until: 50, now: 10)
        #expect(host.most(now: 99) == 2 && host.most(now: 100) == nil)
        host.limit(to: 5, until: 200, now: 100)
        #expect(host.most(now: 150) == 5)
    }

    @Test func `A host's useful number of connections expires, and is separate from its limit`() {
        var host = HostConnections()
        #expect(host.useful(now: 0) == nil && host.isOutdated(now: 0))
        host.found(useful: 5, until: 100)
        #expect(host.useful(now: 99) == 5 && host.most(now: 99) == nil && !host.isOutdated(now: 99))
        host.found(useful: 2, until: 80)
        #expect(host.useful(now: 79) == 2 && host.isOutdated(now: 80))
    }

    @Test func `The number of connections follows the limits of the host and the task, and discretion`() {
        let six = SegmentLimits(connectionsPerHost: 6)
        #expect(six.inAll(sources: 1) == 6 && six.inAll(sources: 2) == 12 && six.inAll(sources: 100) == 32)
        #expect(SegmentLimits(connectionsPerHost: 6, forced: 4).inAll(sources: 2) == 4)
        #expect(SegmentLimits(connectionsPerHost: 2, forced: 4).inAll(sources: 1) == 2)
        #expect(SegmentLimits(connectionsPerHost: 6, forced: 4, isDiscretionary: true).inAll(sources: 3) == 1)
        #expect(SegmentLimits(connectionsPerHost: 0).inAll(sources: 1) == 1)
    }
}
