import Foundation
import PushProtocol
import PushRouting
import PushStore
import Testing

@Suite struct FullDiskTests {
    /// A test in a process of its own, whose files have a size limit (RLIMIT_FSIZE of setrlimit(2)).
    @Test func `A transaction that fills the disk reports the full disk as the reason`() async {
        await #expect(processExitsWith: .success) {
            let directory = FileManager.default.temporaryDirectory.appending(path: "push-store-\(UUID())")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            let store = try PushStore(path: directory.appending(path: "gateway.sqlite").path)
            try await PushStoreTests.fill(store)
            signal(SIGXFSZ, SIG_IGN)
            var bound = rlimit(rlim_cur: 8 << 20, rlim_max: 8 << 20)
            let isBound = setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &bound) == 0
            #expect(isBound)
            // The write exceeds the database's cache, so SQLite writes data before the transaction ends.
            let error = await #expect(throws: StoreError.self) {
                try await store.write { transaction in
                    for number in 0..<8_000 as Range<UInt64> {
                        var push = PushStoreTests.push(number, topic: "t\(number)")
                        push.payload = [UInt8](repeating: 0x20, count: 4_000)
                        _ = try transaction.store(push, slot: .latest, heldUntil: nil)
                    }
                }
            }
            #expect(error?.code == .unavailable)
            let left = try await store.read { try $0.waiting(for: PushStoreTests.device).count }
            #expect(left == 0)
        }
    }
}
