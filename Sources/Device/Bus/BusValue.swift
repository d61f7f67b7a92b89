/// A value of a property, as far as it matters here which kind it is.
enum BusValue: Equatable, Sendable {
    case truth(Bool)
    /// Any of D-Bus's integers. One that does not fit is cut off at the largest.
    case integer(Int64)
    case number(Double)
    /// Also an object's path.
    case text(String)
    /// Something else, by its signature: no property that is asked for is of such a type.
    case other(String)

    /// What it is, for people.
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

/// Why something that was asked of the bus was not had.
struct BusFailure: Error, Equatable {
    /// A sentence's second half: "is not running".
    var text: String

    init(_ text: String) {
        self.text = String(text.prefix(200))
    }
}
