/// The rows of a large table, which know what has changed since they were last on disk. A state with few rows is compared
/// row by row instead.
package struct Rows<Key: Hashable & Sendable, Value: Equatable & Sendable>: Sendable {
    private var rows: [Key: Value] = [:]
    private var touched = Touched<Key>()

    package init() {}

    /// Creates rows that are on disk.
    package init(onDisk rows: [Key: Value]) { self.rows = rows }

    package var keys: Dictionary<Key, Value>.Keys { rows.keys }
    package var values: Dictionary<Key, Value>.Values { rows.values }
    package var count: Int { rows.count }

    package subscript(key: Key) -> Value? {
        get { rows[key] }
        _modify {
            let before = rows[key]
            yield &rows[key]
            if rows[key] != before { touched.touch(key) }
        }
    }

    /// Returns the rows that were changed or added since an earlier copy, and the keys of those that were removed.
    package func changes(since copy: Self) -> (changed: [Value], removed: [Key]) {
        let keys = touched.changed(since: copy.touched)
        return (keys.compactMap { rows[$0] }, keys.filter { rows[$0] == nil })
    }

    /// Forgets the changes that an earlier copy contained. They are on disk.
    package mutating func wrote(_ copy: Self) { touched.wrote(copy.touched) }

    /// Removes the rows of a copy that only serves ``changes(since:)``, so that later changes need not copy them.
    package mutating func removeValues() { rows = [:] }
}
