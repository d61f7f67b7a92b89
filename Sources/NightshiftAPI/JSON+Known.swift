package import Foundation

extension JSON {
    /// What is known of a value that a service says, which may be newer than this program: apps have the library linked in.
    ///
    /// Words that this program does not know, such as a new reason to wait, are left out, and with each the smallest part of the value
    /// that cannot do without it. What is left has to be the value still.
    package static func decodeKnown<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        do {
            return try decode(type, from: data)
        } catch let error as DecodingError {
            guard var tree = try? decode(JSONTree.self, from: data) else { throw error }
            var trouble = error
            for _ in 0..<mostLeftOut {
                guard let less = tree.leavingOut(trouble) else { throw error }
                tree = less
                do {
                    return try decode(type, from: encode(tree))
                } catch let next as DecodingError {
                    trouble = next
                }
            }
            throw error
        }
    }

    /// Parts of one value that are left out; equal ones in a list count as one.
    private static let mostLeftOut = 64
}

/// A value of JSON whose type nobody knows.
private enum JSONTree: Hashable, Codable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
    case list([JSONTree])
    case object([String: JSONTree])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([JSONTree].self) {
            self = .list(value)
        } else {
            self = .object(try container.decode([String: JSONTree].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .boolean(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .list(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }

    /// The tree without what an attempt to read it has failed at, nor its like in other elements of the lists on the way there.
    ///
    /// - Returns: nil where nothing would be left, or nothing would be gone.
    func leavingOut(_ error: DecodingError) -> JSONTree? {
        let path: [any CodingKey]
        let isMeant: (JSONTree) -> Bool
        switch error {
        case .keyNotFound(let key, let context):
            path = context.codingPath
            isMeant = { tree in
                guard case .object(let members) = tree else { return false }
                return members[key.stringValue] == nil
            }
        case .dataCorrupted(let context), .typeMismatch(_, let context), .valueNotFound(_, let context):
            path = context.codingPath
            let failed = at(path[...])
            isMeant = { $0 == failed }
        @unknown default: return nil
        }
        guard !path.isEmpty, let less = leavingOut(path[...], isMeant), less != self else { return nil }
        return less
    }

    private func at(_ path: ArraySlice<any CodingKey>) -> JSONTree? {
        guard let step = path.first else { return self }
        switch self {
        case .object(let members): return members[step.stringValue]?.at(path.dropFirst())
        case .list(let elements):
            guard let index = step.intValue, elements.indices.contains(index) else { return nil }
            return elements[index].at(path.dropFirst())
        default: return nil
        }
    }

    private func leavingOut(_ path: ArraySlice<any CodingKey>, _ isMeant: (JSONTree) -> Bool) -> JSONTree? {
        guard let step = path.first else { return isMeant(self) ? nil : self }
        switch self {
        case .object(var members):
            guard let member = members[step.stringValue] else { return self }
            members[step.stringValue] = member.leavingOut(path.dropFirst(), isMeant)
            return .object(members)
        case .list(let elements):
            return .list(elements.compactMap { $0.leavingOut(path.dropFirst(), isMeant) })
        default: return self
        }
    }
}
