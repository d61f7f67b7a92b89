import Foundation
import Glibc
import NightshiftAPI
import Store
import TestSupport
import Testing

/// Tests of many writers in few transactions, in which each writer gets its own result.
@Suite struct GroupCommitTests {
    private struct Refusal: Error {}

    @Test func `Many writers share few transactions`() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await store.write { try $0.putSession(.terminal, SessionSettings()) }
        let counter = CommitCounter()
        store.add(transactionObserver: counter)
        let writers = 400
        let (isHeld, gathered) = (Watched(false), Watched(0))
        // While one transaction is blocked, all others wait.
        let ids = try await withThrowingTaskGroup(of: TaskID.self) { group in
            group.addTask {
                try await store.write { transaction in
                    isHeld.update { $0 = true }
                    _ = gathered.block { $0 == writers - 1 }
                    return try transaction.insert(.waiting()).id
                }
            }
            try await isHeld.wait(for: "the first transaction") { $0 }
            for _ in 1..<writers {
                group.addTask {
                    gathered.update { $0 += 1 }
                    return try await store.write { try $0.insert(.waiting()).id }
                }
            }
            return try await group.reduce(into: Set<TaskID>()) { $0.insert($1) }
        }
        #expect(ids.count == writers)
        #expect(try await store.read { try $0.taskCount() } == writers)
        #expect(counter.commits <= writers / 10, "\(counter.commits) commits for \(writers) writers")
    }

    @Test func `A failing write undoes only its own changes`() async throws {
        let store = try await StoreFixture.inMemory()
        let outcomes = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<100 {
                group.addTask {
                    do {
                        try await store.write { transaction in
                            _ = try transaction.insert(.waiting("https://example.org/\(number)"))
                            if number % 3 == 0 { throw Refusal() }
                        }
                        return true
                    } catch {
                        return false
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count { $0 } == 66)
        let urls = try await store.read { try $0.tasks(session: nil, states: nil, after: nil, limit: 1_000) }
            .compactMap(\.request.url)
        #expect(Set(urls) == Set((0..<100).filter { $0 % 3 != 0 }.map { "https://example.org/\($0)" }))
    }

    @Test func `A failing commit fails every write of the transaction`() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await store.write { try $0.putSession(.terminal, SessionSettings()) }
        let counter = CommitCounter()
        store.add(transactionObserver: counter)
        counter.refuse(true)
        let codes = await withTaskGroup(of: StoreError.Code?.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    do throws(StoreError) {
                        try await store.write { transaction in
                            _ = try transaction.insert(.waiting())
                            try transaction.record(JournalEntry(time: .now, decision: .accepted))
                        }
                        return nil
                    } catch {
                        return error.code
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes == Array(repeating: .diskFull, count: 50))
        #expect(store.journalSignal.last == 0)
        counter.refuse(false)
        #expect(try await store.read { try $0.taskCount() } == 0)
        _ = try await store.write { try $0.insert(.waiting()) }
        #expect(try await store.read { try $0.taskCount() } == 1)
    }

    @Test func `All writers of a transaction get the error that the disk is full`() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await store.write { try $0.putSession(.terminal, SessionSettings()) }
        store.add(transactionObserver: FullDisk())
        _ = try await store.write { try $0.insert(.waiting()) }
        @Sendable func code(inserting count: Int) async -> StoreError.Code? {
            do throws(StoreError) {
                try await store.write { transaction in
                    for _ in 0..<count { _ = try transaction.insert(.waiting()) }
                }
                return nil
            } catch {
                return error.code
            }
        }
        async let small = code(inserting: 1)
        async let large = code(inserting: 1_000)
        let codes = await (small, large)
        #expect(codes.1 == .diskFull)
        // This write may have had a transaction of its own, with enough space on the disk.
        #expect(codes.0 == nil || codes.0 == .diskFull)
        #expect(try await store.read { try $0.taskCount() } == (codes.0 == nil ? 2 : 1))
    }

    @Test func `A write that violates a rule of the schema gets a constraint error`() async throws {
        let store = try await StoreFixture.inMemory()
        let error = await #expect(throws: StoreError.self) {
            try await store.write { transaction in
                _ = try transaction.insert(.waiting(priority: 7))
            }
        }
        #expect(error?.code == .constraint)
        #expect(error?.isPermanent == true)
    }
}
