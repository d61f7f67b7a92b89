import Runtime
import Testing

/// Tests that rows know what differs from the disk.
@Suite struct RowsTests {
    /// Returns the values of changed and added rows as text, and the keys of removed ones.
    private static func difference(of rows: Rows<String, Int>, _ durable: Rows<String, Int>) -> Set<String> {
        let (changed, removed) = rows.changes(since: durable)
        return Set(changed.map { "\($0)" } + removed)
    }

    @Test func `Changed, added and removed rows differ until they are written`() {
        var rows = Rows<String, Int>(onDisk: ["a": 1, "b": 2, "c": 3])
        var durable = rows
        #expect(Self.difference(of: rows, durable).isEmpty)
        rows["a"]? += 1
        rows["b"] = nil
        rows["d"] = 4
        #expect(Self.difference(of: rows, durable) == ["2", "b", "4"])
        // A write is under way, and another change follows.
        let copy = rows
        rows["a"]? += 1
        rows.wrote(copy)
        durable = copy
        durable.wrote(copy)
        durable.removeValues()
        #expect(Self.difference(of: rows, durable) == ["3"])
        #expect(rows.count == 3 && rows["a"] == 3 && rows["b"] == nil)
    }

    @Test func `A row that is set to the same value does not differ`() {
        var rows = Rows<String, Int>(onDisk: ["a": 1])
        let durable = rows
        rows["a"] = 1
        rows["b"]? = 2
        rows["c"] = nil
        #expect(Self.difference(of: rows, durable).isEmpty)
    }

    @Test func `A failed write keeps the difference`() {
        var rows = Rows<String, Int>()
        let durable = rows
        rows["a"] = 1
        _ = rows
        rows["b"] = 2
        rows["a"] = nil
        #expect(Self.difference(of: rows, durable) == ["a", "2"])
    }
}
