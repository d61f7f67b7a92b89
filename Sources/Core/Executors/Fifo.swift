/// A queue. Adding and removing an element takes constant time on average.
struct Fifo<Element> {
    private var elements: [Element?] = []
    private var first = 0

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    mutating func popFirst() -> Element? {
        guard first < elements.count else { return nil }
        let element = elements[first]
        elements[first] = nil
        first += 1
        if first == elements.count {
            elements.removeAll(keepingCapacity: true)
            first = 0
        } else if first >= 256, 2 * first > elements.count {
            elements.removeFirst(first)
            first = 0
        }
        return element
    }
}

extension Fifo: Sendable where Element: Sendable {}
