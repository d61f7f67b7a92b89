import NightshiftAPI

/// The parameters of a call, without the secret. Each function reads the parameter at an index, and throws the error that
/// aria2 answers with.
struct Parameters: Sendable {
    private let values: [RPCValue]

    init(_ values: [RPCValue]) {
        self.values = values
    }

    private func value(_ index: Int) -> RPCValue? { index < values.count ? values[index] : nil }

    func string(_ index: Int) throws(RPCError) -> String {
        guard let text = try optionalString(index) else { throw missing(index) }
        return text
    }

    func optionalString(_ index: Int) throws(RPCError) -> String? {
        guard let value = value(index) else { return nil }
        guard let text = value.string else { throw wrongType(index) }
        return text
    }

    func integer(_ index: Int) throws(RPCError) -> Int64 {
        guard let number = try optionalInteger(index) else { throw missing(index) }
        return number
    }

    /// Returns a whole number. As in aria2, a fraction is cut off.
    func optionalInteger(_ index: Int) throws(RPCError) -> Int64? {
        guard let value = value(index) else { return nil }
        if case .number(let fraction) = value { return Int64(saturating: fraction) }
        guard let number = value.integer else { throw wrongType(index) }
        return number
    }

    /// Returns a number that must be at least `lowest`.
    func integer(_ index: Int, from lowest: Int64) throws(RPCError) -> Int64 {
        let number = try integer(index)
        guard number >= lowest else {
            throw RPCError(
                "The integer parameter at \(index) has invalid value: the value must be greater than or equal to "
                    + "\(lowest).")
        }
        return number
    }

    func list(_ index: Int) throws(RPCError) -> [RPCValue] {
        guard let values = try optionalList(index) else { throw missing(index) }
        return values
    }

    func optionalList(_ index: Int) throws(RPCError) -> [RPCValue]? {
        guard let value = value(index) else { return nil }
        guard let values = value.array else { throw wrongType(index) }
        return values
    }

    func object(_ index: Int) throws(RPCError) -> [String: RPCValue] {
        guard let members = try optionalObject(index) else { throw missing(index) }
        return members
    }

    func optionalObject(_ index: Int) throws(RPCError) -> [String: RPCValue]? {
        guard let value = value(index) else { return nil }
        guard let members = value.object else { throw wrongType(index) }
        return members
    }

    /// Returns the keys of the filter of `tell*`; nil for all keys.
    func keys(_ index: Int) throws(RPCError) -> Set<String>? {
        let keys = try optionalList(index)?.compactMap(\.string)
        return keys.flatMap { $0.isEmpty ? nil : Set($0) }
    }

    private func missing(_ index: Int) -> RPCError {
        RPCError("The parameter at \(index) is required but missing.")
    }

    private func wrongType(_ index: Int) -> RPCError {
        RPCError("The parameter at \(index) has wrong type.")
    }
}
