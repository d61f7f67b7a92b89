import Foundation
import NightshiftAPI

extension Problem {
    /// Creates a problem that names the position of the error in the body, and the expected value.
    init(_ error: DecodingError, schema: Schema) {
        switch error {
        case .keyNotFound(let key, let context):
            let path = context.codingPath + [key]
            self = .badRequest(
                "The key '\(key.stringValue)' is missing. It must be \(Self.expectation(at: path, in: schema)).",
                pointer: Self.pointer(path))
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            self = .badRequest(
                "\(Self.place(context.codingPath)) must be \(Self.expectation(at: context.codingPath, in: schema)).",
                pointer: Self.pointer(context.codingPath))
        case .dataCorrupted(let context):
            self = Self.corrupted(context, schema: schema)
        @unknown default:
            self = .badRequest("The body cannot be read.")
        }
    }

    private static func corrupted(_ context: DecodingError.Context, schema: Schema) -> Problem {
        let path = context.codingPath
        guard !path.isEmpty else {
            let cause = context.underlyingError.map { "\($0)" } ?? context.debugDescription
            return .badRequest("The body is not JSON: \(cause)")
        }
        guard let place = Self.schema(at: path, in: schema), place.values != nil || place.format == "date-time" else {
            return .badRequest(
                "\(Self.place(path)) cannot be read: \(context.debugDescription)", pointer: pointer(path))
        }
        return .badRequest("\(Self.place(path)) must be \(place.expectation).", pointer: pointer(path))
    }

    /// Returns the position as a JSON pointer (RFC 6901).
    private static func pointer(_ path: [any CodingKey]) -> String {
        JSONPointer.string(path.map { $0.intValue.map(String.init) ?? $0.stringValue })
    }

    private static func place(_ path: [any CodingKey]) -> String {
        path.isEmpty ? "The body" : "'\(pointer(path))'"
    }

    private static func expectation(at path: [any CodingKey], in schema: Schema) -> String {
        Self.schema(at: path, in: schema)?.expectation ?? "something else"
    }

    private static func schema(at path: [any CodingKey], in schema: Schema) -> Schema? {
        var place: Schema? = schema
        for key in path {
            let next = key.intValue == nil ? place?.properties?[key.stringValue] : place?.items
            place = next?.resolved(in: OpenAPI.schemas)
        }
        return place
    }
}

/// Conversions between a position in a JSON document and its text form (RFC 6901).
enum JSONPointer {
    static func string(_ path: [String]) -> String {
        path.map { "/" + $0.replacing("~", with: "~0").replacing("/", with: "~1") }.joined()
    }
}
