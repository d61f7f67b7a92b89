import NightshiftAPI
import Store
import Testing
import Transfers

/// Tests of finished bytes that cannot be used, or cannot get their name.
@Suite struct FinishTroubleTests {
    private static let mismatch = TransferFailure(.checksumMismatch, "other bytes")
    private static let broken = TransferFailure(.inputOutput, "unreadable")
    private static let full = TransferFailure(.diskFull, "full")
    private static let forbidden = TransferFailure(.destinationUnavailable, "not here")

    private static func record(mirrors: [String] = [], isChecked: Bool = false) -> TaskRecord {
        var record = TaskMachineTests.record(.finishing)
        record.partial = TransferRunScene.partial(1_000)
        if !mirrors.isEmpty { record.request.mirrors = mirrors }
        if isChecked { record.request.checksum = Checksum(algorithm: .sha256, hex: "00") }
        return record
    }

    private static func wrongBytes(
        _ failure: TransferFailure, wasContinued: Bool = false, of record: inout TaskRecord
    ) -> TaskEvent {
        FinishTrouble.wrongBytes(
            failure, wasContinued: wasContinued, of: &record, bootSeconds: 100, random: { 0.5 })
    }

    @Test func `A task fetches unusable bytes of several exchanges again, the first time without a pause`() {
        var record = Self.record()
        #expect(Self.wrongBytes(Self.mismatch, wasContinued: true, of: &record) == .fetchAgain(Self.mismatch))
        record.restarts = 1
        record.failures = 1
        #expect(
            Self.wrongBytes(Self.mismatch, wasContinued: true, of: &record)
                == .fetchAgain(Self.mismatch, notBefore: 101))
    }

    @Test func `A task fails after its bytes were unusable and fetched again five times`() {
        var record = Self.record()
        for restarts in 0..<FinishTrouble.mostRestarts {
            record.restarts = restarts
            guard case .fetchAgain = FinishTrouble.unusable(Self.broken, of: record, bootSeconds: 100) else {
                Issue.record("not fetched again after \(restarts)")
                return
            }
        }
        record.restarts = FinishTrouble.mostRestarts
        guard
            case .fail(let failure, file: nil, resumeData: nil) =
                FinishTrouble.unusable(Self.broken, of: record, bootSeconds: 100)
        else {
            Issue.record("it is fetched without end")
            return
        }
        #expect(failure.code == .inputOutput && failure.message.contains("6 times"))
        // The same limit applies to repeated checksum mismatches, however many exchanges the bytes came from.
        #expect(
            Self.wrongBytes(Self.mismatch, wasContinued: true, of: &record)
                == .fail(Self.mismatch, file: nil, resumeData: nil))
    }

    @Test func `A task gives up on a disk that can never sync a file`() {
        var record = Self.record()
        record.failures = FinishTrouble.mostRestarts
        #expect(Self.wrongBytes(Self.broken, of: &record).isHold(.retry))
        record.lastError = Self.broken
        #expect(Self.wrongBytes(Self.broken, of: &record) == .fail(Self.broken, file: nil, resumeData: nil))
        // The task waits while the disk is full.
        #expect(Self.wrongBytes(Self.full, of: &record).isHold(.retry))
    }

    @Test func `A task does not fetch wrong bytes again that came from a single exchange`() {
        var record = Self.record()
        #expect(
            Self.wrongBytes(Self.mismatch, of: &record) == .fail(Self.mismatch, file: nil, resumeData: nil))
    }

    @Test func `A task requests each URL once to find the right file`() {
        var record = Self.record(mirrors: ["http://m/"], isChecked: true)
        guard case .fetchAgain(let failure, notBefore: nil) = Self.wrongBytes(Self.mismatch, of: &record) else {
            Issue.record("no other URL is asked")
            return
        }
        #expect(failure.message.hasSuffix("Another URL is tried."))
        record.partial?.mirror = "http://m/"
        guard case .fail(let last, file: nil, resumeData: nil) = Self.wrongBytes(Self.mismatch, of: &record) else {
            Issue.record("it never ends")
            return
        }
        #expect(last.message.hasSuffix("None of its 2 URLs has the right file."))
    }

    @Test func `A task without a checksum does not try another URL for the right file`() {
        var record = Self.record(mirrors: ["http://m/"])
        #expect(
            Self.wrongBytes(Self.mismatch, of: &record) == .fail(Self.mismatch, file: nil, resumeData: nil))
    }

    @Test func `A temporary failure is retried later, and bytes on a failing disk are not trusted`() {
        var record = Self.record()
        #expect(Self.wrongBytes(Self.full, of: &record).isHold(.retry))
        #expect(record.partial?.bootID == "b")
        #expect(Self.wrongBytes(Self.broken, of: &record).isHold(.retry))
        #expect(record.partial?.bootID == "")
    }

    @Test func `The service stores a file itself if the folder refuses it, and retries until it can`() {
        #expect(FinishTrouble.unplaced(Self.forbidden, isRefused: false, bootSeconds: 100) == nil)
        #expect(FinishTrouble.unplaced(Self.forbidden, isRefused: true, bootSeconds: 100)?.isHold(.retry) == true)
        #expect(FinishTrouble.unplaced(Self.full, isRefused: false, bootSeconds: 100)?.isHold(.diskSpace) == true)
    }
}

extension TaskEvent {
    /// Returns whether the event is a wait with this reason that ends after boot second 100.
    fileprivate func isHold(_ reason: WaitReason) -> Bool {
        guard case .hold(let hold) = self, let until = hold.notBefore else { return false }
        return hold.reason == reason && until > 100
    }
}
