/// Deadlines by key, and the earliest of them. The implementation is a heap. Outdated deadlines stay in the heap until
/// they reach its top.
package struct Deadlines<Key: Hashable & Sendable>: Sendable {
    private var current: [Key: Double] = [:]
    private var heap: [Element] = []

    private struct Element: Sendable {
        var deadline: Double
        var key: Key
    }

    package init() {}

    /// The deadline of a key; nil if it has none.
    package subscript(_ key: Key) -> Double? {
        get { current[key] }
        set {
            guard newValue != current[key] else { return }
            current[key] = newValue
            defer { dropOutdated() }
            guard let newValue else { return }
            if heap.count > 2 * current.count + Self.spare {
                rebuild()
            } else {
                push(Element(deadline: newValue, key: key))
            }
        }
    }

    /// The number of outdated elements that is always allowed. The heap is rebuilt when it has more elements than twice
    /// the keys plus this number.
    private static var spare: Int { 16 }

    /// The earliest deadline.
    package var next: Double? { heap.first?.deadline }

    /// Removes the deadlines up to the given time. Returns their keys, the earliest first.
    package mutating func takeDue(_ now: Double) -> [Key] {
        var keys: [Key] = []
        defer { dropOutdated() }
        while let first = heap.first, first.deadline <= now {
            pop()
            guard current[first.key] == first.deadline else { continue }
            current[first.key] = nil
            keys.append(first.key)
        }
        return keys
    }

    /// Removes outdated elements from the top of the heap.
    private mutating func dropOutdated() {
        while let first = heap.first, current[first.key] != first.deadline { pop() }
    }

    private mutating func rebuild() {
        heap = current.map { Element(deadline: $1, key: $0) }.sorted { $0.deadline < $1.deadline }
    }

    private mutating func push(_ element: Element) {
        heap.append(element)
        var index = heap.count - 1
        while index > 0, heap[index].deadline < heap[(index - 1) / 2].deadline {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func pop() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < heap.count && heap[child].deadline < heap[least].deadline {
                least = child
            }
            guard least != index else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}
