import Foundation
import NightshiftAPI
import Store
import TestSupport
import Testing

/// Tests that every reader that waits for the journal is woken.
@Suite struct GrowthSignalTests {
    /// A test with writers and readers in any order, in which every reader sees every entry.
    @Test(.timeLimit(.minutes(20)), arguments: 1...8) func `A reader of the journal never misses a wake-up`(_ seed: Int)
        async throws
    {
        let store = try await StoreFixture.inMemory()
        let entries: Int64 = 60
        try await withThrowingTaskGroup(of: Void.self) { group in
            for reader in 0..<8 {
                group.addTask {
                    var random = SplitMix64(seed: UInt64(seed * 100 + reader))
                    var seen: Int64 = 0
                    while seen < entries, !Task.isCancelled {
                        if Bool.random(using: &random) { await Task.yield() }
                        await store.journalSignal.wait(past: seen)
                        let last = store.journalSignal.last
                        #expect(last > seen)
                        seen = last
                    }
                }
            }
            group.addTask {
                var random = SplitMix64(seed: UInt64(seed))
                for _ in 0..<entries {
                    for _ in 0..<Int.random(in: 0...3, using: &random) { await Task.yield() }
                    try await store.write {
                        try $0.record(JournalEntry(time: .init(timeIntervalSince1970: 1), decision: .started))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(store.journalSignal.last == entries)
    }

    @Test(.timeLimit(.minutes(20))) func `A reader does not wait if the journal already has a new entry`() async throws
    {
        let store = try await StoreFixture.inMemory()
        try await store.write { try $0.record(JournalEntry(time: .init(timeIntervalSince1970: 1), decision: .started)) }
        await store.journalSignal.wait(past: 0)
        #expect(store.journalSignal.last == 1)
    }

    @Test(.timeLimit(.minutes(20))) func `A reader does not lose a pulse that precedes the wait`() async throws {
        let store = try await StoreFixture.inMemory()
        let wakes = store.journalSignal.wakes
        store.journalSignal.wakeWaiters()
        await store.journalSignal.wait(past: 0, since: wakes)
        #expect(store.journalSignal.wakes == wakes + 1 && store.journalSignal.last == 0)
    }

    @Test(.timeLimit(.minutes(20)), arguments: 1...50) func `A reader whose wait is cancelled stops waiting`(
        _ seed: Int
    ) async throws {
        let store = try await StoreFixture.inMemory()
        let waiting = Task { await store.journalSignal.wait(past: 0) }
        for _ in 0..<seed % 5 { await Task.yield() }
        waiting.cancel()
        await waiting.value
        #expect(store.journalSignal.last == 0)
    }

    @Test(.timeLimit(.minutes(20))) func `A pulse wakes a reader although there is no entry`() async throws {
        let store = try await StoreFixture.inMemory()
        let woken = Task { await store.journalSignal.wait(past: 0) }
        let pulsing = Task {
            while !Task.isCancelled {
                store.journalSignal.wakeWaiters()
                await Task.yield()
            }
        }
        await woken.value
        pulsing.cancel()
        #expect(store.journalSignal.last == 0)
    }
}
