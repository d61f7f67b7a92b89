import Runtime
import Testing

/// Tests that rows know what differs from the disk.
@Suite struct RowsTests {
    @Test func `Changed, added and removed rows differ until they are written`() {
        var rows = Rows<String, Int>(onDisk: ["a": 1, "b": 2, "c": 3])
        var durable = rows
        #expect(rows.changed(since: durable).isEmpty)
        rows["a"]? += 1
        rows["b"] = nil
        rows["d"] = 4
        #expect(rows.changed(since: durable) == ["a", "b", "d"])
        // A write is under way, and another change follows.
        let copy = rows
        rows["a"]? += 1
        rows.wrote(copy)
        durable = copy
        durable.wrote(copy)
        durable.removeValues()
        #expect(rows.changed(since: durable) == ["a"])
        #expect(rows.count == 3 && rows["a"] == 3 && rows["b"] == nil)
    }

    @Test func `A row that is set to the same value does not differ`() {
        var rows = Rows<String, Int>(onDisk: ["a": 1])
        let durable = rows
        rows["a"] = 1
        rows["b"]? = 2
        rows["c"] = nil
        #expect(rows.changed(since: durable).isEmpty)
    }

    @Test func `A failed write keeps the difference`() {
        var rows = Rows<String, Int>()
        let durable = rows
        rows["a"] = 1
        _ = rows
        rows["b"] = 2
        rows["a"] = nil
        #expect(rows.changed(since: durable) == ["a", "b"])
    }
}
