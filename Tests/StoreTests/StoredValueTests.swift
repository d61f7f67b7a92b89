import NightshiftAPI
import Store
import Testing

/// Tests of a row's value that is also kept in memory.
struct StoredValueTests {
    @Test func `The latest value remains, in whatever order results arrive`() async throws {
        let store = try await StoreFixture.inMemory()
        var stored = StoredValue(5.0)
        var changes: [(value: Double, order: Int64)] = []
        for lead in [7.0, 8.0, 9.0] {
            changes.append(
                try await store.write { transaction in
                    var settings = try transaction.deviceSettings() ?? DeviceSettings()
                    settings.expirationLead = lead
                    try transaction.put(settings)
                    return (lead, try transaction.order())
                })
        }
        for (index, expected) in [(1, 8.0), (0, 8.0), (2, 9.0), (1, 9.0)] {
            stored.take(changes[index].value, changes[index].order)
            #expect(stored.value == expected)
        }
    }
}
