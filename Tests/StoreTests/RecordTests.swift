import Foundation
import GRDB
import NightshiftAPI
import Store
import TestSupport
import Testing

/// Tests of rows and their values.
@Suite struct RecordTests {
    private static var full: TaskRecord {
        var record = TaskRecord.waiting(priority: 0.25, large: true)
        record.request.credential = Credential(user: "anna", password: "s3cret-password")
        record.request.headers = [HeaderField(name: "Authorization", value: "Bearer s3cret-token")]
        record.request.proxy = "http://anna:s3cret-proxy@proxy:3128"
        record.source = FileIdentity(size: 1, modifiedNanoseconds: 2, inode: 3, device: 4)
        record.rules = TransferRules(code: 20 << 8 | 62) ?? TransferRules()
        record.relaxesAt = 20
        record.isDiscretionForced = true
        return record
    }

    private static func changed(_ start: TaskRecord) -> TaskRecord {
        var record = start
        record.notBefore = 5
        record.beginAt = 6
        record.wait = StoredWait(reason: .retry, since: 7, detail: "a detail")
        record.deadline = 8
        record.timeLeft = 9
        record.startedAt = 10
        var partial = PartialFile(path: "/p/1.a.part", bootID: "b")
        partial.synced = 11
        partial.total = 12
        partial.entityTag = "\"x\""
        partial.lastModified = "l"
        partial.date = "d"
        partial.digests = [Checksum(algorithm: .md5, hex: "00")]
        record.partial = partial
        record.uploadSource = UploadSource(
            files: [
                UploadSource.File(
                    path: "/s/copy",
                    identity: FileIdentity(size: 1, modifiedNanoseconds: 2, inode: 3, device: 4), isSnapshot: true),
                UploadSource.File(
                    path: "/home/own",
                    identity: FileIdentity(size: 5, modifiedNanoseconds: 6, inode: 7, device: 8)),
            ], boundary: "b", length: 99)
        var resource = UploadResource(
            url: "https://h/1", uploadProtocol: .draft(.v6), offset: 7, length: 99, source: "s", sharesSecrets: true)
        resource.partSize = 10
        resource.expiresAt = 20
        record.upload = resource
        record.publication = Publication(from: "/a", to: "/b", inode: 13, size: 14, overwrite: true)
        record.currentURL = "http://elsewhere/"
        record.response = ResponseSummary(status: 200, headers: [HeaderField(name: "A", value: "b")], httpVersion: "2")
        record.lastError = TransferFailure(.connectionLost, "gone")
        record.error = TransferFailure(.httpStatus, "no", status: 404)
        record.received = 15
        record.sent = 16
        record.file = "/f"
        record.verified = ["md5"]
        record.attempts = 17
        record.restarts = 18
        record.failures = 19
        record.wrongSources = [0, 2]
        record.firstDoubt = SuspectResponse(fingerprint: "first 200 page", times: 1)
        record.resumeData = "token"
        return record
    }

    @Test func `The store reads every column back unchanged`() async throws {
        let store = try await StoreFixture.inMemory()
        let inserted = try await store.write { try $0.insert(Self.full) }
        var expected = inserted
        expected.maximumConnections = 6
        #expect(try await store.read { try $0.task(inserted.id) } == expected)
        let changed = Self.changed(expected)
        try await store.write { try $0.update(changed) }
        #expect(try await store.read { try $0.task(inserted.id) } == changed)
        #expect(try await store.read { try $0.task(resumeData: "token") } == changed)
        #expect(try await store.read { try $0.partialPaths() } == ["/p/1.a.part"])
        #expect(try await store.read { try $0.snapshotPaths() } == ["/s/copy"])
    }

    @Test func `The store keeps secrets in a single column`() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await store.write { transaction in
            try transaction.putSession(.terminal, SessionSettings())
            let record = try transaction.insert(Self.full)
            try transaction.update(Self.changed(record))
            try transaction.record(JournalEntry(time: .now, decision: .accepted, task: record.id))
        }
        try store.close()
        let database = try DatabaseQueue(path: fixture.paths.database.path)
        let places = try await database.read { db in
            var places: Set<String> = []
            for table in try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table'") {
                for row in try Row.fetchAll(db, sql: "SELECT * FROM \"\(table)\"") {
                    for (column, value) in row where value.description.contains("s3cret") {
                        places.insert("\(table).\(column)")
                    }
                }
            }
            return places
        }
        #expect(places == ["tasks.request"])
    }

    @Test func `The store can count and list tasks by their states`() async throws {
        let store = try await StoreFixture.inMemory()
        let ids = try await store.write { transaction in
            try [TaskState.waiting, .suspended, .finishing, .completed, .failed, .cancelled, .waiting].map { state in
                var record = try transaction.insert(.waiting())
                record.state = state
                record.endedAt = state.isTerminal ? Double(record.id.rawValue) : nil
                record.endedBoot = record.endedAt
                try transaction.update(record)
                return record.id
            }
        }
        let counts = try await store.read { try $0.countsByState() }
        #expect(counts == [.waiting: 2, .suspended: 1, .finishing: 1, .completed: 1, .failed: 1, .cancelled: 1])
        #expect(try await store.read { try $0.finishingTasks() }.map(\.id) == [ids[2]])
        #expect(try await store.read { try $0.unfinishedTasks(session: nil) } == [ids[0], ids[1], ids[2], ids[6]])
        #expect(try await store.read { try $0.unfinishedTasks(session: .terminal) }.count == 4)
        let old = try await store.read { transaction in
            let now = ClockReading(bootID: "boot-1", bootSeconds: 15, wallSeconds: 0)
            return try transaction.forgettableTasks(endedFor: 10, now: now, limit: 9)
        }
        #expect(old.map(\.id) == [ids[3], ids[4]])
        let page = try await store.read {
            try $0.tasks(session: .terminal, states: [.waiting, .failed], after: ids[0], limit: 1)
        }
        #expect(page.map(\.id) == [ids[4]])
    }

    @Test func `Resume tokens are unique`() async throws {
        let store = try await StoreFixture.inMemory()
        let error = await #expect(throws: StoreError.self) {
            try await store.write { transaction in
                for _ in 0..<2 {
                    var record = try transaction.insert(.waiting())
                    record.resumeData = "same"
                    try transaction.update(record)
                }
            }
        }
        #expect(error?.code == .constraint)
    }

    @Test func `The deletion of a session deletes the session's tasks`() async throws {
        let store = try await StoreFixture.inMemory()
        let other = SessionID(rawValue: "other")
        try await store.write { transaction in
            var settings = SessionSettings()
            settings.idleTimeout = 5
            try transaction.putSession(other, settings)
            settings.idleTimeout = 7
            try transaction.putSession(other, settings)
            for _ in 0..<3 { _ = try transaction.insert(.waiting(session: other)) }
            var ended = try transaction.insert(.waiting(session: other))
            ended.state = .completed
            ended.endedAt = 1
            try transaction.update(ended)
            #expect(ended.taskIdentifier == 4)
        }
        let sessions = try await store.read { try $0.sessions() }
        #expect(sessions.map(\.id) == [.terminal, other])
        #expect(sessions[1].settings.idleTimeout == 7)
        #expect(sessions[1].tasks == 4)
        #expect(sessions[1].activeTasks == 3)
        #expect(try await store.read { try $0.sessionCount() } == 2)
        try await store.write { try $0.deleteSession(other) }
        #expect(try await store.read { try $0.taskCount() } == 0)
        #expect(try await store.read { try $0.sessions(other) }.isEmpty)
        let error = await #expect(throws: StoreError.self) {
            _ = try await store.write { transaction in try transaction.insert(.waiting(session: other)) }
        }
        #expect(error?.code == .constraint)
    }

    @Test func `New settings of the service replace the stored settings`() async throws {
        let store = try await StoreFixture.inMemory()
        #expect(try await store.read { try $0.settings() } == nil)
        try await store.write { try $0.put(rateLimit: 5, maximumTransfers: 6, yield: .auto) }
        try await store.write { try $0.put(rateLimit: nil, maximumTransfers: 7, yield: .off) }
        #expect(try await store.read { try $0.settings() } == ServiceSettings(maximumTransfers: 7, yield: .off))
    }
}
