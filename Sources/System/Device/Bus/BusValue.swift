/// The value of a property, reduced to the types that the service uses.
enum BusValue: Equatable, Sendable {
    case truth(Bool)
    /// A value of any integer type of D-Bus. A value that does not fit becomes the maximum.
    case integer(Int64)
    case number(Double)
    /// A string or an object path.
    case text(String)
    /// A value of any other type, with its signature. No requested property has such a type.
    case other(String)

    /// The text that users see for the value.
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

/// The reason why a request on the bus failed.
struct BusFailure: Error, Equatable {
    /// The reason: a clause with its own subject, such as "there was no answer", or the system's text for an error
    /// number, such as "Connection refused". Messages put it after a colon or in parentheses.
    var text: String

    init(_ text: String) {
        self.text = String(text.prefix(200))
    }
}
