/// A large value that is shared by its copies until one of them changes. A copy increments one reference
/// count instead of a hundred.
@propertyWrapper
package struct CopyOnWrite<Value: Sendable>: Sendable {
    // `Sendable` is unchecked, because the value is changed only while a single copy holds it.
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
