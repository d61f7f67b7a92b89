package import Foundation

extension JSON {
    /// Decodes a value and ignores the parts whose format this program does not know. The service may be newer than
    /// this program, because apps link the library statically.
    ///
    /// An unknown enum value, such as a new wait reason, is left out together with the smallest enclosing part that is
    /// invalid without it. The rest must still be a valid value.
    package static func decodeKnown<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        try decodeReadable(type, from: data).value
    }

    /// Returns a value without the parts that this program cannot read, and the names of those parts.
    ///
    /// A list stays valid if this program cannot read one of its elements.
    ///
    /// - Throws: The first error, if the remaining data is not a valid value.
    package static func decodeReadable<Value: Decodable>(
        _ type: Value.Type, from data: Data
    ) throws -> (value: Value, unreadable: [UnreadablePart]) {
        do {
            return (try decode(type, from: data), [])
        } catch let error as DecodingError {
            guard var tree = try? decode(JSONTree.self, from: data) else { throw error }
            var trouble = error
            var unreadable: [UnreadablePart] = []
            for _ in 0..<mostLeftOut {
                guard let less = tree.leavingOut(trouble) else { throw error }
                unreadable.add(UnreadablePart(trouble, in: tree))
                tree = less
                do {
                    return (try decode(type, from: encode(tree)), unreadable)
                } catch let next as DecodingError {
                    trouble = next
                }
            }
            throw error
        }
    }

    /// The maximum number of parts that may be left out of one value. Equal parts of a list count as one.
    private static let mostLeftOut = 64
}

/// A part of a response that could not be read and was left out.
package struct UnreadablePart: Hashable, Sendable {
    /// The path of keys to this part. An element of a list is named by its identifier, or otherwise by its index.
    package var path: [String]
    /// A description of the problem for display.
    package var reason: String

    package init(path: [String], reason: String) {
        self.path = path
        self.reason = reason
    }

    package var sentence: String { "\(path.joined(separator: "/")) cannot be read and was left out: \(reason)" }
}

extension UnreadablePart {
    fileprivate init(_ error: DecodingError, in tree: JSONTree) {
        switch error {
        case .keyNotFound(let key, let context):
            self.init(path: tree.names(context.codingPath[...]), reason: "The key '\(key.stringValue)' is missing.")
        case .dataCorrupted(let context), .typeMismatch(_, let context), .valueNotFound(_, let context):
            self.init(path: tree.names(context.codingPath[...]), reason: context.debugDescription)
        @unknown default: self.init(path: [], reason: "\(error)")
        }
    }
}

extension [UnreadablePart] {
    /// Adds a part. It replaces recorded parts inside it, but keeps the reason of the first replaced part, because that
    /// reason explains why this part is left out.
    fileprivate mutating func add(_ part: UnreadablePart) {
        var part = part
        if let first = first(where: { $0.path.starts(with: part.path) }) { part.reason = first.reason }
        removeAll { $0.path.starts(with: part.path) }
        append(part)
    }
}

/// A JSON value of any type.
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

    /// Returns the tree without the part at which decoding failed. In lists on the path to that part, equal parts of
    /// other elements are removed as well.
    ///
    /// - Returns: Nil if nothing would be left or nothing would be removed.
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

    /// Returns the path in a form for display.
    func names(_ path: ArraySlice<any CodingKey>) -> [String] {
        guard let step = path.first else { return [] }
        switch self {
        case .object(let members):
            return [step.stringValue] + (members[step.stringValue]?.names(path.dropFirst()) ?? [])
        case .list(let elements):
            guard let index = step.intValue, elements.indices.contains(index) else { return [step.stringValue] }
            return [elements[index].identifier ?? String(index)] + elements[index].names(path.dropFirst())
        default: return [step.stringValue]
        }
    }

    /// The value of the key that identifies an element of a list.
    private var identifier: String? {
        guard case .object(let members) = self else { return nil }
        for key in ["id", "identifier", "app", "name", "key"] {
            switch members[key] {
            case .text(let text): return text
            case .integer(let number): return String(number)
            default: continue
            }
        }
        return nil
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
