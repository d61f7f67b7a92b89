import NightshiftAPI
import Store
import TestSupport
import Testing

/// Tests that a cancelled caller does not get an error that claims a disk failure.
@Suite(.timeLimit(.minutes(20))) struct CancellationTests {
    @Test(arguments: [false, true]) func `A read completes in a cancelled task`(isOnDisk: Bool)
        async throws
    {
        let fixture = try StoreFixture()
        let store = try await isOnDisk ? fixture.open() : StoreFixture.inMemory()
        let reader = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            #expect(Task.isCancelled)
            return try await store.read { try $0.taskCount() }
        }
        #expect(try await reader.value == 0)
    }

    @Test func `A cancellation does not interrupt a running read`() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        let (isReading, mayGoOn) = (Watched(false), Gate())
        let reader = Task {
            try await store.read { transaction in
                isReading.update { $0 = true }
                _ = mayGoOn.block(until: .now + WaitingTime.longest)
                return try transaction.taskCount()
            }
        }
        try await isReading.wait(within: .seconds(60), for: "the read") { $0 }
        reader.cancel()
        mayGoOn.open()
        #expect(try await reader.value == 0)
    }
}
