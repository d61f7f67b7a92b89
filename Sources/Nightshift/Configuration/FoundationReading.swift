/// The order in which FoundationNetworking's initialiser of `URLSession` reads a configuration: it copies it, and then reads each
/// property once, in the order of their declaration. Nothing else does so.
struct FoundationReading {
    enum Property: Int {
        case pipelining
        case idleMode
        case protocolClasses
    }

    private var next: Property?

    /// The configuration was copied.
    mutating func copied() { next = .pipelining }

    /// - Returns: whether that completes the order.
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
