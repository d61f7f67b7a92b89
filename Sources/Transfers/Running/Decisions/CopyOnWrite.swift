/// A large value that its copies share until one of them changes: copying counts one reference instead of the value's hundred.
@propertyWrapper
package struct CopyOnWrite<Value: Sendable>: Sendable {
    // Unchecked: changed only where a single copy holds it.
    private final class Box: @unchecked Sendable {
        var value: Value

        init(_ value: Value) { self.value = value }
    }

    private var box: Box

    package init(wrappedValue: Value) {
        box = Box(wrappedValue)
    }

    package var wrappedValue: Value {
        _read { yield box.value }
        _modify {
            if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
            yield &box.value
        }
    }
}
