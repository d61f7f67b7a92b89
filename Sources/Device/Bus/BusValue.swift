/// A property's value, reduced to the types that are used here.
enum BusValue: Equatable, Sendable {
    case truth(Bool)
    /// Any integer type of D-Bus. A larger value becomes the maximum.
    case integer(Int64)
    case number(Double)
    /// A string or an object path.
    case text(String)
    /// Any other type, by its signature. No requested property has such a type.
    case other(String)

    /// The value as shown to people.
    var phrase: String {
        switch self {
        case .truth(let truth): truth ? "yes" : "no"
        case .integer(let integer): String(integer)
        case .number(let number): String(number)
        case .text(let text): "'\(text.prefix(64))'"
        case .other(let signature): "of type \(signature.prefix(64))"
        }
    }
}

/// The reason for which a request on the bus failed.
struct BusFailure: Error, Equatable {
    /// The predicate of a sentence: "is not running".
    var text: String

    init(_ text: String) {
        self.text = String(text.prefix(200))
    }
}
