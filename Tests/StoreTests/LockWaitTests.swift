import Foundation
import GRDB
import NightshiftAPI
import Store
import TestSupport
import Testing

/// Tests of locks that another program holds on the database.
@Suite struct LockWaitTests {
    /// Returns a connection that has the write lock until the caller unlocks the database.
    private func lock(_ fixture: StoreFixture) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: fixture.paths.database.path, configuration: configuration)
        try other.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
        return other
    }

    @Test func `T2: The store of a stopping service gives up early on a lock, even during a wait`() async throws {
        let fixture = try StoreFixture()
        let (patient, leaving) = (try fixture.open(), try fixture.open())
        let other = try lock(fixture)
        let order = Watched<[String]>([])
        async let first: Void = {
            try? await patient.write { try $0.putSession(.terminal, SessionSettings()) }
            order.update { $0.append("patient") }
        }()
        leaving.endLockWaits(at: .now)
        let error = await #expect(throws: StoreError.self) {
            try await leaving.write { try $0.putSession(.terminal, SessionSettings()) }
        }
        #expect(error?.isPermanent == false)
        order.update { $0.append("leaving") }
        try? leaving.close()
        order.update { $0.append("closed") }
        #expect(order.read { $0 } == ["leaving", "closed"])
        try other.inDatabase { try $0.execute(sql: "COMMIT") }
        await first
        try patient.close()
    }

    @Test func `T2: A store waits for a lock until another program releases the lock`() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        let other = try lock(fixture)
        async let written: Void = store.write { try $0.putSession(.terminal, SessionSettings()) }
        try other.inDatabase { try $0.execute(sql: "COMMIT") }
        try await written
        try store.close()
    }
}
