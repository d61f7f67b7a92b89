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
    package var isEmpty: Bool { rows.isEmpty }

    package subscript(key: Key) -> Value? {
        get { rows[key] }
        _modify {
            let before = rows[key]
            yield &rows[key]
            if rows[key] != before { touched.touch(key) }
        }
    }

    /// Returns the keys of rows that were changed, added or removed since an earlier copy.
    package func changed(since copy: Self) -> Set<Key> { touched.changed(since: copy.touched) }

    /// Forgets the changes that an earlier copy contained. They are on disk.
    package mutating func wrote(_ copy: Self) { touched.wrote(copy.touched) }

    /// Removes the rows of a copy that only serves ``changed(since:)``, so that later changes need not copy them.
    package mutating func removeValues() { rows = [:] }
}
