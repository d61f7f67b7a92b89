import Foundation
import NightshiftAPI
import Store
import Testing
import Transfers

/// Tests of the decision about a download whose file name is taken.
@Suite struct NameClaimTests {
    private static func record(
        _ id: Int64, _ ifTaken: TakenName?, session: SessionID = .terminal,
        _ change: (inout TaskRequest) -> Void = { _ in }
    ) -> TaskRecord {
        var request = TaskRequest(url: "https://example.org/f")
        request.destination = Destination(directory: "/home/ada", filename: "f", ifTaken: ifTaken)
        change(&request)
        var record = TaskRecord(
            session: session, origin: "", state: .waiting, priority: 0.5, createdAt: 0, request: request)
        record.id = TaskID(id)
        return record
    }

    private static func isRefused(_ claim: NameClaim) -> Bool {
        if case .refused = claim { true } else { false }
    }

    @Test func `T8: An equal request joins the running task`() {
        let other = Self.record(12, .join) { $0.rateLimit = 5 }
        #expect(NameClaim.of(Self.record(0, .join), against: other, isThere: false) == .joins(TaskID(12)))
        let later = Self.record(0, .join) {
            $0.earliestBeginDate = .init(timeIntervalSince1970: 5)
            $0.priority = 1
        }
        #expect(NameClaim.of(later, against: other, isThere: true) == .joins(TaskID(12)))
    }

    @Test(arguments: 0..<6) func `T8: A different request does not join the running task, and its error names the task`(
        _ kind: Int
    ) {
        let other = Self.record(12, .join)
        let record = [
            Self.record(0, .join) { $0.url = "https://example.org/g" }, Self.record(0, .refuse),
            Self.record(0, .join, session: SessionID(rawValue: "other")),
            Self.record(0, .join) { $0.headers = [HeaderField(name: "A", value: "b")] },
            Self.record(0, .join) { $0.checksum = Checksum(algorithm: .md5, hex: "00") },
            Self.record(0, .join) { $0.destination?.overwrite = true },
        ][kind]
        guard case .refused(let sentence) = NameClaim.of(record, against: other, isThere: false) else {
            Issue.record("accepted")
            return
        }
        #expect(sentence.contains("Transfer 12 is already downloading /home/ada/f"))
    }

    @Test func `T8: A request that continues an earlier download does not join a running task`() {
        var record = Self.record(0, .join)
        record.continues = true
        #expect(Self.isRefused(NameClaim.of(record, against: Self.record(12, .join), isThere: false)))
    }

    @Test func `T8: A download replaces an existing file only on request`() {
        #expect(Self.isRefused(NameClaim.of(Self.record(0, .join), against: nil, isThere: true)))
        #expect(Self.isRefused(NameClaim.of(Self.record(0, .refuse), against: nil, isThere: true)))
        let replacing = Self.record(0, .refuse) { $0.destination?.overwrite = true }
        #expect(NameClaim.of(replacing, against: nil, isThere: true) == .free)
    }

    @Test(arguments: [nil, TakenName.number])
    func `T8: A download that may take another name is accepted although its name is taken`(
        _ ifTaken: TakenName?
    ) {
        #expect(NameClaim.of(Self.record(0, ifTaken), against: Self.record(12, .join), isThere: true) == .free)
        let unnamed = Self.record(0, .join) { $0.destination?.filename = nil }
        #expect(NameClaim.of(unnamed, against: nil, isThere: true) == .free)
    }

    @Test func `T8: A destination has the same path with and without a slash after the directory`() {
        #expect(Destination(directory: "/a/", filename: "f").path == "/a/f")
        #expect(Destination(directory: "/a", filename: "f").path == "/a/f")
        #expect(Destination(directory: "/", filename: "f").path == "/f")
        #expect(Destination(directory: "/a").path == nil)
    }
}
