import NightshiftAPI
import Testing
import Transfers

/// Tests of the tasks that wait after each kind of failure.
@Suite struct FailureAttributionTests {
    private static let own = "https://example.org:443"
    private static let other = "https://cdn.example:443"

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var code: TransferFailure.Code
        var status: Int?
        var point: FailurePoint?
        var asked = own
        var hasOwnTLS = false
        var retryAfter: RetryAfter?
        var attribution: FailureAttribution
    }

    private static func at(_ stage: FailurePoint.Stage, _ origin: String = own) -> FailurePoint {
        FailurePoint(origin: origin, stage: stage)
    }

    static let rows = [
        Row(testDescription: "no address", code: .cannotResolveHost, point: at(.address), attribution: .address),
        Row(testDescription: "no connection", code: .cannotConnect, point: at(.address), attribution: .address),
        Row(
            testDescription: "silence while connecting", code: .idleTimeout, point: at(.address), attribution: .address),
        Row(testDescription: "no TLS", code: .tlsFailure, point: at(.address), attribution: .address),
        Row(
            testDescription: "an expired certificate", code: .certificateOutOfDate, point: at(.address),
            attribution: .address
        ),
        Row(
            testDescription: "an expired certificate with an authority of its own", code: .certificateOutOfDate,
            point: at(.address), hasOwnTLS: true, attribution: .request),
        Row(
            testDescription: "no TLS with certificates of its own", code: .tlsFailure, point: at(.address),
            hasOwnTLS: true, attribution: .request),
        Row(
            testDescription: "no connection, whatever its certificates", code: .cannotConnect, point: at(.address),
            hasOwnTLS: true, attribution: .address),
        Row(testDescription: "no proxy", code: .proxyFailure, point: at(.proxy), attribution: .proxy),
        Row(testDescription: "a proxy that is silent", code: .idleTimeout, point: at(.proxy), attribution: .proxy),
        Row(
            testDescription: "no proxy on the way to a mirror", code: .proxyFailure, point: at(.proxy, other),
            asked: other, attribution: .proxy),
        Row(
            testDescription: "a proxy that does not reach the origin", code: .proxyFailure, point: at(.address),
            attribution: .address),
        Row(testDescription: "500", code: .serverUnavailable, status: 500, point: at(.server), attribution: .request),
        Row(
            testDescription: "503 without a time", code: .serverUnavailable, status: 503, point: at(.server),
            attribution: .request),
        Row(
            testDescription: "503 with a time", code: .serverUnavailable, status: 503, point: at(.server),
            retryAfter: .seconds(3), attribution: .origin),
        Row(
            testDescription: "429 with a time", code: .serverUnavailable, status: 429, point: at(.server),
            retryAfter: .seconds(3), attribution: .origin),
        Row(
            testDescription: "500 with a time", code: .serverUnavailable, status: 500, point: at(.server),
            retryAfter: .seconds(3), attribution: .request),
        Row(testDescription: "silence in the body", code: .idleTimeout, point: at(.server), attribution: .request),
        Row(testDescription: "a cut body", code: .truncated, point: at(.server), attribution: .request),
        Row(testDescription: "no HTTP", code: .protocolError, point: at(.server), attribution: .request),
        Row(
            testDescription: "a redirect to a dead address", code: .cannotConnect, point: at(.address, other),
            attribution: .request),
        Row(
            testDescription: "a redirect to one that refuses", code: .serverUnavailable, status: 503,
            point: at(.server, other), retryAfter: .seconds(3), attribution: .request),
        Row(
            testDescription: "a mirror that is down", code: .cannotConnect, point: at(.address, other), asked: other,
            attribution: .nobody),
        Row(
            testDescription: "a mirror that redirects to the origin, which is down", code: .cannotConnect,
            point: at(.address), asked: other, attribution: .address),
        Row(testDescription: "a full disk", code: .diskFull, point: at(.server), attribution: .nobody),
        Row(testDescription: "trouble without an exchange", code: .inputOutput, point: nil, attribution: .nobody),
    ]

    @Test(arguments: rows) func `Each failure is attributed to the cause in its row`(_ row: Row) {
        let failure = TransferFailure(row.code, "", status: row.status)
        #expect(
            FailureAttribution.of(
                failure, at: row.point, own: Self.own, asked: row.asked, hasOwnTLS: row.hasOwnTLS,
                retryAfter: row.retryAfter) == row.attribution)
    }
}
