import NightshiftAPI
import Testing
import Transfers

/// Tests of the length of the pause after a failure, and of its reason.
@Suite struct FailurePauseTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var code: TransferFailure.Code
        var attribution: FailureAttribution
        var failures = 0
        var retryAfter: Transfers.RetryAfter?
        var reason: WaitReason
        /// The pause in seconds after the failure.
        var delay: Double
        /// The number of transfers that may start on the route after the failure.
        var allowance: Int
    }

    /// The expected pauses when every random number has its mean value.
    static let rows: [Row] = [
        Row(
            testDescription: "a broken connection", code: .connectionLost, attribution: .request, reason: .retry,
            delay: 0.5,
            allowance: .max),
        Row(
            testDescription: "the fourth in a row", code: .connectionLost, attribution: .request, failures: 3,
            reason: .retry,
            delay: 4, allowance: .max),
        Row(
            testDescription: "very many in a row", code: .truncated, attribution: .request, failures: 99,
            reason: .retry,
            delay: 150, allowance: .max),
        Row(
            testDescription: "nobody is to blame", code: .checksumMismatch, attribution: .nobody, reason: .retry,
            delay: 0.5,
            allowance: .max),
        // The pause is that of the whole route, not that of the task.
        Row(
            testDescription: "the way is closed", code: .cannotConnect, attribution: .address, failures: 9,
            reason: .retry,
            delay: 0.5, allowance: 0),
        Row(
            testDescription: "the proxy is closed", code: .proxyFailure, attribution: .proxy, failures: 9,
            reason: .retry,
            delay: 0.5, allowance: 0),
        Row(
            testDescription: "a server that wants to be left alone, at least by this one", code: .serverUnavailable,
            attribution: .origin, retryAfter: .seconds(120), reason: .retryAfter, delay: 120, allowance: 1),
        Row(
            testDescription: "in no seconds is no wish", code: .serverUnavailable, attribution: .origin, failures: 1,
            retryAfter: .seconds(0), reason: .retry, delay: 1, allowance: 1),
        Row(
            testDescription: "too long a wish", code: .serverUnavailable, attribution: .request,
            retryAfter: .seconds(1e9),
            reason: .retryAfter, delay: 3_600, allowance: .max),
        Row(
            testDescription: "a full disk", code: .diskFull, attribution: .nobody, failures: 9, reason: .diskSpace,
            delay: 10,
            allowance: .max),
        Row(
            testDescription: "trouble of this machine", code: .inputOutput, attribution: .nobody, failures: 9,
            reason: .retry,
            delay: 10, allowance: .max),
    ]

    private static let way = HostTable.Way(origin: "https://a.example:443", proxy: "http://proxy:8080")
    private static let now = ClockReading(bootID: "boot", bootSeconds: 1_000, wallSeconds: 5_000)

    @Test(arguments: rows) func `A failure pauses only the affected tasks`(row: Row) {
        var hosts = HostTable()
        let attempt = FailurePause.Attempt(
            failure: TransferFailure(row.code, "It failed."), attribution: row.attribution, task: TaskID(1),
            way: Self.way,
            began: 990, failures: row.failures, retryAfter: row.retryAfter)
        let pause = FailurePause.after(attempt, in: &hosts, now: Self.now) { 0.5 }
        #expect(pause.reason == row.reason && pause.notBefore == 1_000 + row.delay)
        #expect(hosts.allowance(Self.way, 1_000) == row.allowance)
    }

    @Test func `A task that fails later for the same cause waits with the others`() {
        var hosts = HostTable()
        func fail(began: Double, at time: Double) -> FailurePause {
            var now = Self.now
            now.bootSeconds = time
            let attempt = FailurePause.Attempt(
                failure: TransferFailure(.cannotConnect, "No."), attribution: .address, task: TaskID(1), way: Self.way,
                began: began, failures: 0, retryAfter: nil)
            return FailurePause.after(attempt, in: &hosts, now: now) { 0.5 }
        }
        #expect(fail(began: 999, at: 1_000).notBefore == 1_000.5)
        // This attempt began before the pause, so it does not count as another failure.
        #expect(fail(began: 999, at: 1_000.2).notBefore == 1_000.5)
        let admitted = hosts.admit(Self.way, now: 1_000.5)
        #expect(admitted)
        #expect(fail(began: 1_000.5, at: 1_000.6).notBefore == 1_001.6)
    }

    @Test(arguments: [FailureAttribution.proxy, .address, .origin, .request, .nobody])
    func `A failure is not attributed to an address that was reached in the attempt`(attribution: FailureAttribution) {
        #expect(attribution.ofAttempt(hasAdvanced: false) == attribution)
        #expect(attribution.ofAttempt(hasAdvanced: true) == (attribution == .address ? .nobody : attribution))
    }
}
