import Foundation
import GRDB
import NightshiftAPI
import Store
import Synchronization
import TestSupport

/// A store with helpers for tests.
struct StoreFixture {
    let directory: TemporaryDirectory
    let paths: ServicePaths
    static let now = ClockReading(bootID: "boot-1", bootSeconds: 1_000, wallSeconds: 1_800_000_000)

    init() throws {
        directory = try TemporaryDirectory()
        paths = ServicePaths(environment: ["NIGHTSHIFT_HOME": directory.path], homeDirectory: URL(filePath: "/"))
        try FileManager.default.createDirectory(at: paths.state, withIntermediateDirectories: true)
    }

    func open(_ now: ClockReading = Self.now) throws -> Store {
        try Store(paths: paths, now: now)
    }

    /// Returns a store in memory with a session for tasks.
    static func inMemory() async throws -> Store {
        let store = try Store(inMemory: now)
        try await store.write { try $0.putSession(.terminal, SessionSettings()) }
        return store
    }

    /// Returns the files in the folder of the database, with their contents.
    func contents() throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: paths.state.path)
        return try Dictionary(
            uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: paths.state.appending(path: $0))) })
    }

    /// Reads from the database without using the store.
    func text(_ sql: String) throws -> String? {
        let database = try DatabaseQueue(path: paths.database.path)
        defer { try? database.close() }
        return try database.read { try String.fetchOne($0, sql: sql) }
    }

    /// Changes the database without using the store.
    func edit(_ sql: String) throws {
        let database = try DatabaseQueue(path: paths.database.path)
        defer { try? database.close() }
        try database.write { try $0.execute(sql: sql) }
    }
}

extension TaskRecord {
    /// Returns a task that can be inserted.
    static func waiting(
        _ url: String = "https://example.org/file", session: SessionID = .terminal,
        origin: String = "https://example.org:443",
        priority: Double = 0.5, large: Bool = false
    ) -> TaskRecord {
        var record = TaskRecord(
            session: session, origin: origin, state: .waiting, priority: priority, createdAt: 1_800_000_000,
            request: TaskRequest(url: url))
        record.isLarge = large
        return record
    }
}

/// A disk that is full after the next commit, so that the database cannot grow by a page.
final class FullDisk: TransactionObserver, Sendable {
    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseWillCommit() throws {}

    func databaseDidCommit(_ db: Database) {
        // SQLite sets the maximum to at least the current number of pages.
        try? db.execute(sql: "PRAGMA max_page_count = 1")
    }

    func databaseDidRollback(_ db: Database) {}
}

/// A counter of the transactions that commit. It refuses commits on demand.
final class CommitCounter: TransactionObserver, Sendable {
    private let state = Mutex((commits: 0, refuses: false))

    var commits: Int { state.withLock { $0.commits } }

    func refuse(_ refuses: Bool) {
        state.withLock { $0.refuses = refuses }
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) {}

    func databaseWillCommit() throws {
        if state.withLock({ $0.refuses }) { throw DatabaseError(resultCode: .SQLITE_FULL) }
    }

    func databaseDidCommit(_ db: Database) {
        state.withLock { $0.commits += 1 }
    }

    func databaseDidRollback(_ db: Database) {}
}
