/// A detector for the order in which FoundationNetworking's initialiser of `URLSession` reads a configuration. The
/// initialiser copies the configuration, and then reads each property once, in the order of declaration. No other code
/// reads the properties in this order.
struct FoundationReading {
    enum Property: Int {
        case pipelining
        case idleMode
        case protocolClasses
    }

    private var next: Property?

    /// Records that the configuration was copied.
    mutating func copied() { next = .pipelining }

    /// Records that a property was read.
    ///
    /// - Returns: Whether this read was the last one of the expected order.
    @discardableResult
    mutating func read(_ property: Property) -> Bool {
        guard property == next else {
            next = nil
            return false
        }
        next = Property(rawValue: property.rawValue + 1)
        return next == nil
    }
}
