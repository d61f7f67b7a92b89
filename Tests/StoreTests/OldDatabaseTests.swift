import Foundation
import GRDB
import NightshiftAPI
import Store
import TestSupport
import Testing

/// Tests that databases of every released version can always be opened.
@Suite struct OldDatabaseTests {
    private static let fixtures = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures/Databases")

    /// A recorder that writes a fixture of the current schema if `NIGHTSHIFT_RECORD=1` is set. It never replaces an
    /// existing fixture.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["NIGHTSHIFT_RECORD"] == "1"))
    func `The tests can record a fixture of the current schema`() async throws {
        let target = Self.fixtures.appending(path: "0008.sqlite")
        try #require(!FileManager.default.fileExists(atPath: target.path))
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await store.write { transaction in
            try transaction.putSession(.terminal, SessionSettings())
            try transaction.putSession(SessionID(rawValue: "org.example.app"), SessionSettings())
            try transaction.put(rateLimit: 1_000_000, maximumTransfers: 8, yield: .auto)
            var waiting = TaskRecord.waiting("https://example.org/waiting")
            waiting.deadline = 605_800
            waiting.request.destination = Destination(directory: "/home/anna/Downloads")
            var partial = PartialFile(path: "/home/anna/.local/state/nightshift/partials/1.a.part", bootID: "boot-1")
            partial.synced = 4_096
            partial.total = 10_000
            partial.entityTag = "\"v1\""
            waiting.partial = partial
            waiting.received = 4_096
            let first = try transaction.insert(waiting)
            try transaction.record(
                JournalEntry(time: Date(timeIntervalSince1970: 1_800_000_000), decision: .accepted, task: first.id))
            var suspended = TaskRecord.waiting(
                "https://example.org/suspended", session: SessionID(rawValue: "org.example.app"))
            suspended.state = .suspended
            suspended.timeLeft = 3_600
            _ = try transaction.insert(suspended)
            var completed = try transaction.insert(.waiting("https://example.org/completed"))
            completed.state = .completed
            completed.endedAt = 1_800_000_100
            completed.file = "/home/anna/Downloads/completed"
            completed.verified = ["sha-256"]
            try transaction.update(completed)
            var upload = TaskRecord.waiting("https://example.org/upload")
            upload.request.kind = .upload
            upload.request.source = "/home/anna/photo.jpg"
            upload.source = FileIdentity(size: 1, modifiedNanoseconds: 2, inode: 3, device: 4)
            _ = try transaction.insert(upload)
            try Self.insertApp(transaction)
            try Self.insertDevice(transaction)
            try Self.insertParts(transaction)
            try Self.insertFailed(transaction)
        }
        try store.close()
        try FileManager.default.createDirectory(at: Self.fixtures, withIntermediateDirectories: true)
        try FileManager.default.copyItem(at: fixture.paths.database, to: target)
    }

    private static let app = AppID(rawValue: "org.example.Photos")
    private static let photos = SessionID(app: app, identifier: "photos")

    /// Inserts the rows that the second schema added: an app, its session, and a message of each kind.
    private static func insertApp(_ transaction: StoreTransaction) throws {
        var record = AppRecord(id: app, now: 1_800_000_000)
        record.state = .suspended
        record.process = StoredProcess(processID: 4_711, startTime: 815, bootID: "boot-1", isManaged: true)
        record.lastExit = AppExit(time: Date(timeIntervalSince1970: 1_799_999_999), cause: .eventsOverdue, signal: 9)
        record.startDelay = 120
        try transaction.put(record)
        _ = try transaction.putSession(app, "photos", SessionSettings())
        var ended = TaskRecord.waiting("https://example.org/photo", session: photos)
        ended.taskIdentifier = 7
        ended.clientData = "note"
        ended.continues = true
        ended = try transaction.insert(ended)
        ended.resumedAt = 100
        ended.state = .completed
        ended.endedAt = 1_800_000_100
        try transaction.update(ended)
        var asked = try transaction.insert(.waiting("https://example.org/private", session: photos))
        asked.question = .challenge
        try transaction.update(asked)
        try transaction.putChallenge(
            of: asked, Challenge(method: .basic, host: "example.org", port: 443, scheme: "https"))
        try transaction.record(
            JournalEntry(time: Date(timeIntervalSince1970: 1_800_000_050), decision: .appWoken, app: app))
    }

    private static func insertDevice(_ transaction: StoreTransaction) throws {
        var settings = DeviceSettings()
        settings.backgroundPolicy = .contiguous
        settings.overrides = [.power: "battery"]
        try transaction.put(settings)
        var held = TaskRecord.waiting("https://example.org/later")
        held.rules.discretion = .full
        held.rules.minimumBattery = 30
        held.relaxesAt = 700_000
        held.isDiscretionForced = true
        held = try transaction.insert(held)
        try transaction.record(
            JournalEntry(
                time: Date(timeIntervalSince1970: 1_800_000_060), decision: .held, task: held.id,
                inputs: ["battery": "20"]))
    }

    /// Inserts a download with gaps, and an upload with a resource on a server.
    private static func insertParts(_ transaction: StoreTransaction) throws {
        var download = TaskRecord.waiting("https://example.org/parts")
        var partial = PartialFile(path: "/home/anna/.local/state/nightshift/partials/9.a.part", bootID: "boot-1")
        var map = SegmentMap(total: 1_000_000, count: 100_000, synced: 50_000)
        map.write(500_000..<700_000)
        map.sync(map.written)
        partial.total = 1_000_000
        partial.segments = map
        download.partial = partial
        _ = try transaction.insert(download)
        var upload = TaskRecord.waiting("https://example.org/kept")
        upload.request.kind = .upload
        upload.request.source = "/home/anna/film.mp4"
        upload = try transaction.insert(upload)
        var resource = UploadResource(
            url: "https://example.org/uploads/1", uploadProtocol: .draft(.v6), offset: 4_096, length: 9_000,
            source: "s",
            sharesSecrets: true)
        resource.partSize = 1_024
        upload.upload = resource
        let file = UploadSource.File(
            path: "/home/anna/film.mp4",
            identity: FileIdentity(size: 9_000, modifiedNanoseconds: 2, inode: 3, device: 4))
        upload.uploadSource = UploadSource(files: [file], length: 9_000)
        try transaction.update(upload)
    }

    /// Inserts a task that failed repeatedly behind a proxy.
    private static func insertFailed(_ transaction: StoreTransaction) throws {
        var record = TaskRecord.waiting("https://example.org/proxied")
        record.request.proxy = "http://proxy.example:3128"
        record = try transaction.insert(record)
        record.attempts = 4
        record.failures = 4
        record.fruitless = 4
        record.furthest = 4_096
        try transaction.update(record)
    }

    @Test func `A database with the seventh schema opens`() async throws {
        let fixture = try StoreFixture()
        try FileManager.default.copyItem(at: Self.fixtures.appending(path: "0007.sqlite"), to: fixture.paths.database)
        let store = try fixture.open(ClockReading(bootID: "boot-1", bootSeconds: 1_500, wallSeconds: 1_800_001_000))
        let (partials, snapshots, lanes) = try await store.read { transaction in
            (try transaction.partialPaths(), try transaction.snapshotPaths(), try transaction.readyLanes())
        }
        let state = "/home/anna/.local/state/nightshift/partials"
        #expect(partials == ["\(state)/1.a.part", "\(state)/9.a.part"])
        #expect(snapshots == ["\(state)/10.a.copy"])
        #expect(lanes.first { $0.session == .terminal }?.maximumConnections == 6)
        var question = Challenge(method: .basic, host: "example.org", port: 443, scheme: "https")
        question.realm = "the \"vault\""
        let (asked, another) = try await store.write { [question] transaction in
            // A question that is pending is not stored again. A question about another realm is a different one.
            let same = try transaction.insert(.waiting("https://example.org/private", session: Self.photos))
            try transaction.putChallenge(of: same, question)
            let other = try transaction.insert(.waiting("https://example.org/private", session: Self.photos))
            var elsewhere = question
            elsewhere.realm = nil
            try transaction.putChallenge(of: other, elsewhere)
            return (same.id, other.id)
        }
        #expect(try await store.read { try $0.hasMessages(asked) } == false)
        #expect(try await store.read { try $0.hasMessages(another) })
        #expect(try await store.read { try $0.task(asked) }?.maximumConnections == 3)
    }

    @Test(arguments: [
        "UPDATE sessions SET settings = 'gone'", "UPDATE sessions SET settings = '{}'",
        "UPDATE sessions SET settings = '{\"httpMaximumConnectionsPerHost\":\"many\"}'",
        "UPDATE tasks SET partial = '{', upload_source = '}'", "UPDATE tasks SET partial = '7', upload_source = '[]'",
        "UPDATE tasks SET partial = '{\"path\":{}}', upload_source = '{\"files\":[7,{\"isSnapshot\":true}]}'",
        "UPDATE messages SET challenge = '{' WHERE kind = 'challenge'",
        "UPDATE messages SET challenge = '{\"port\":\"x\",\"isProxy\":2}' WHERE kind = 'challenge'",
    ])
    func `Invalid values do not prevent a migration to the next schema`(damage: String) async throws {
        let fixture = try StoreFixture()
        try FileManager.default.copyItem(at: Self.fixtures.appending(path: "0007.sqlite"), to: fixture.paths.database)
        try fixture.edit(damage)
        let store = try fixture.open(ClockReading(bootID: "boot-1", bootSeconds: 1_500, wallSeconds: 1_800_001_000))
        let (rows, lanes) = try await store.read { transaction in
            (
                try transaction.rows(session: nil, states: nil, after: nil, limit: 99), try transaction.readyLanes()
            )
        }
        #expect(rows.count == 10)
        #expect(lanes.allSatisfy { $0.maximumConnections >= 1 })
        #expect(try await store.read { try $0.partialPaths() }.count == (damage.contains("partial") ? 0 : 2))
        #expect(try await store.read { try $0.snapshotPaths() }.count == (damage.contains("upload_source") ? 0 : 1))
    }

    @Test func `A database with the fifth schema opens`() async throws {
        let fixture = try StoreFixture()
        try FileManager.default.copyItem(at: Self.fixtures.appending(path: "0005.sqlite"), to: fixture.paths.database)
        let store = try fixture.open(ClockReading(bootID: "boot-1", bootSeconds: 1_500, wallSeconds: 1_800_001_000))
        let (tasks, lanes) = try await store.read { transaction in
            (try transaction.tasks(session: nil, states: nil, after: nil, limit: 99), try transaction.readyLanes())
        }
        let failed = try #require(tasks.first { $0.request.url == "https://example.org/proxied" })
        #expect(failed.fruitless == 4 && failed.furthest == 4_096)
        #expect(lanes.first { $0.id == failed.lane }?.proxy == "http://proxy.example:3128")
    }

    @Test func `The migration moves tasks with a proxy to a queue of each proxy`() async throws {
        let fixture = try StoreFixture()
        try FileManager.default.copyItem(at: Self.fixtures.appending(path: "0004.sqlite"), to: fixture.paths.database)
        let url = "https://example.org/parts"
        try await DatabaseQueue(path: fixture.paths.database.path).write { db in
            try db.execute(
                sql: """
                    UPDATE tasks SET request = json_set(request, '$.proxy', 'http://ada:pa@ss@proxy.example:3128')
                    WHERE json_extract(request, '$.url') = ?
                    """, arguments: [url])
        }
        let store = try fixture.open(ClockReading(bootID: "boot-1", bootSeconds: 1_500, wallSeconds: 1_800_001_000))
        let (tasks, lanes) = try await store.read { transaction in
            (try transaction.tasks(session: nil, states: nil, after: nil, limit: 99), try transaction.readyLanes())
        }
        let proxied = try #require(tasks.first { $0.request.url == url })
        let direct = try #require(tasks.first { $0.request.url == "https://example.org/kept" })
        #expect(proxied.lane != direct.lane && proxied.session == direct.session && proxied.origin == direct.origin)
        #expect(lanes.first { $0.id == proxied.lane }?.proxy == "http://proxy.example:3128")
        #expect(lanes.first { $0.id == direct.lane }.map(\.proxy) == .some(nil))
        // The next task finds the existing queue.
        let next = try await store.write { transaction in
            var record = TaskRecord.waiting(url)
            record.request.proxy = "http://bob:secret@proxy.example:3128"
            return try transaction.insert(record)
        }
        #expect(next.lane == proxied.lane)
    }

    @Test func `A database with the fourth schema opens`() async throws {
        let fixture = try StoreFixture()
        try FileManager.default.copyItem(at: Self.fixtures.appending(path: "0004.sqlite"), to: fixture.paths.database)
        let store = try fixture.open(ClockReading(bootID: "boot-1", bootSeconds: 1_500, wallSeconds: 1_800_001_000))
        let tasks = try await store.read { try $0.tasks(session: nil, states: nil, after: nil, limit: 99) }
        let parts = try #require(tasks.first { $0.request.url == "https://example.org/parts" })
        let map = try #require(parts.partial?.segments)
        #expect(map.written.ranges == [0..<100_000, 500_000..<700_000] && map.synced == map.written)
        let kept = try #require(tasks.first { $0.request.url == "https://example.org/kept" })
        #expect(kept.upload?.url == "https://example.org/uploads/1" && kept.upload?.uploadProtocol == .draft(.v6))
        #expect(kept.upload?.offset == 4_096 && kept.upload?.partSize == 1_024)
        #expect(kept.sentFiles?.length == 9_000)
    }

    @Test func `A database with the third schema opens`() async throws {
        let fixture = try StoreFixture()
        try FileManager.default.copyItem(at: Self.fixtures.appending(path: "0003.sqlite"), to: fixture.paths.database)
        let store = try fixture.open(ClockReading(bootID: "boot-1", bootSeconds: 1_500, wallSeconds: 1_800_001_000))
        let (settings, tasks) = try await store.read { transaction in
            (
                try transaction.deviceSettings(),
                try transaction.tasks(session: nil, states: nil, after: nil, limit: 99)
            )
        }
        #expect(settings?.backgroundPolicy == .contiguous && settings?.overrides == [.power: "battery"])
        let held = try #require(tasks.first { $0.request.url == "https://example.org/later" })
        #expect(held.rules.discretion == .full && held.rules.minimumBattery == 30)
        #expect(held.relaxesAt == 700_000 && held.isDiscretionForced)
        let history = try await store.read { try $0.history(of: held.id, limit: 9) }
        #expect(history.map(\.inputs) == [["battery": "20"]])
    }

    @Test func `A database with the second schema opens`() async throws {
        let fixture = try StoreFixture()
        try FileManager.default.copyItem(at: Self.fixtures.appending(path: "0002.sqlite"), to: fixture.paths.database)
        let store = try fixture.open(ClockReading(bootID: "boot-9", bootSeconds: 50, wallSeconds: 1_800_001_000))
        let (apps, messages, wakes, history) = try await store.read { transaction in
            (
                try transaction.apps().records, try transaction.messages(Self.photos, after: 0, limit: 9),
                try transaction.wantedWakes(), try transaction.history(of: Self.app, limit: 9)
            )
        }
        #expect(apps.map(\.id) == [Self.app])
        #expect(apps.first?.process?.processID == 4_711)
        #expect(apps.first?.lastExit?.cause == .eventsOverdue)
        #expect(messages.map(\.kind) == [.resumed, .ended, .challenge])
        #expect(messages.first?.task.taskIdentifier == 7)
        #expect(messages.first?.task.clientData == "note")
        #expect(messages.last?.task.question == .challenge)
        #expect(wakes.map(\.reason) == [.challenge])
        #expect(history.map(\.decision) == [.appWoken])
    }

    @Test func `A database with the first schema opens`() async throws {
        let fixture = try StoreFixture()
        try FileManager.default.copyItem(at: Self.fixtures.appending(path: "0001.sqlite"), to: fixture.paths.database)
        let store = try fixture.open(
            ClockReading(bootID: "boot-9", bootSeconds: 50, wallSeconds: 1_800_001_000))
        let tasks = try await store.read { try $0.tasks(session: nil, states: nil, after: nil, limit: 99) }
        #expect(
            tasks.map(\.request.url)
                == ["waiting", "suspended", "completed", "upload"].map { "https://example.org/\($0)" })
        #expect(tasks.map(\.state) == [.waiting, .suspended, .completed, .waiting])
        // The 950 s between the boots were not observed, so they do not count.
        #expect(tasks[0].deadline == 604_800.0)
        #expect(tasks[0].partial?.synced == 4_096)
        #expect(tasks[0].partial?.entityTag == "\"v1\"")
        #expect(tasks[0].request.destination == Destination(directory: "/home/anna/Downloads"))
        #expect(tasks[1].timeLeft == 3_600)
        #expect(tasks[1].session == SessionID(rawValue: "org.example.app"))
        #expect(tasks[2].verified == ["sha-256"])
        #expect(tasks[3].source == FileIdentity(size: 1, modifiedNanoseconds: 2, inode: 3, device: 4))
        #expect(
            try await store.read { try $0.settings() }
                == ServiceSettings(rateLimit: 1_000_000, maximumTransfers: 8, yield: .auto))
        #expect(try await store.read { try $0.history(of: tasks[0].id, limit: 9) }.map(\.decision) == [.accepted])
        // The database remains usable.
        let next = try await store.write { try $0.insert(.waiting()) }
        #expect(next.id > tasks[3].id)
    }
}
