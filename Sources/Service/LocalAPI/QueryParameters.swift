import Foundation
import NightshiftAPI

/// The parsed query of a request. Unknown parameters are refused, not ignored.
struct QueryParameters: Sendable {
    private let values: [String: String]

    /// Throws a problem for parameters that are unknown, repeated, or percent-encoded incorrectly.
    init(_ query: String?, allowing names: Set<String>) throws(Problem) {
        var values: [String: String] = [:]
        for pair in (query ?? "").split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = try Self.decode(parts[0])
            guard names.contains(name) else {
                let known = names.isEmpty ? "none" : names.sorted().joined(separator: ", ")
                throw .badRequest("The query parameter '\(name)' is unknown here. Known parameters: \(known).")
            }
            guard values[name] == nil else { throw .badRequest("The query parameter '\(name)' is given twice.") }
            values[name] = try Self.decode(parts.count > 1 ? parts[1] : "")
        }
        self.values = values
    }

    func string(_ name: String) throws(Problem) -> String? {
        guard let value = values[name] else { return nil }
        guard !value.isEmpty else { throw .badRequest("The query parameter '\(name)' is empty.") }
        return value
    }

    func integer(_ name: String, in range: ClosedRange<Int64>) throws(Problem) -> Int64? {
        guard let text = try string(name) else { return nil }
        return try Self.integer(text, in: range, called: "query parameter '\(name)'")
    }

    /// Returns a parameter that is a number in JSON syntax. Leading and trailing zeros and points are also allowed.
    func number(_ name: String, in range: ClosedRange<Double>) throws(Problem) -> Double? {
        guard let text = try string(name) else { return nil }
        guard text.utf8.count <= 32, text.utf8.allSatisfy("0123456789.eE+-".utf8.contains), let value = Double(text)
        else {
            throw .badRequest("The query parameter '\(name)' must be a number such as 12.5, not '\(text)'.")
        }
        guard range.contains(value) else {
            let (least, most) = (Int64(saturating: range.lowerBound), Int64(saturating: range.upperBound))
            throw .badRequest("The query parameter '\(name)' must be at least \(least) and at most \(most).")
        }
        return value
    }

    func boolean(_ name: String) throws(Problem) -> Bool? {
        switch try string(name) {
        case nil: nil
        case "true": true
        case "false": false
        case let value?: throw .badRequest("The query parameter '\(name)' must be true or false, not '\(value)'.")
        }
    }

    /// Returns a parameter that is a time in the format that bodies use.
    func date(_ name: String) throws(Problem) -> Date? {
        guard let text = try string(name) else { return nil }
        guard let date = Timestamp.date(text) else {
            throw .badRequest(
                "The query parameter '\(name)' must be a time such as 2026-11-21T06:00:00Z, not '\(text)'.")
        }
        return date
    }

    /// Returns the elements of a comma-separated list.
    func list(_ name: String) throws(Problem) -> [String]? {
        try string(name).map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
    }

    /// Returns the ids in a comma-separated list of transfer ids.
    func taskIDs(_ name: String) throws(Problem) -> Set<TaskID>? {
        guard let ids = try list(name) else { return nil }
        var set: Set<TaskID> = []
        for id in ids {
            set.insert(TaskID(try Self.integer(id, in: 1...Int64.max, called: "query parameter '\(name)'")))
        }
        return set
    }

    /// Returns an integer in plain digits: without leading zeros, spaces or signs except a minus.
    static func integer(
        _ text: String, in range: ClosedRange<Int64>, called name: String
    ) throws(Problem) -> Int64 {
        guard let value = Int64(text), String(value) == text else {
            throw .badRequest("The \(name) must be an integer, not '\(text)'.")
        }
        guard range.contains(value) else {
            let upper = range.upperBound == .max ? "" : " and at most \(range.upperBound)"
            throw .badRequest("The \(name) must be at least \(range.lowerBound)\(upper), not \(value).")
        }
        return value
    }

    /// Decodes percent-encoding. `+` becomes a space, as in forms.
    private static func decode(_ text: Substring) throws(Problem) -> String {
        guard let decoded = text.replacing("+", with: " ").removingPercentEncoding else {
            throw .badRequest("The query '\(text)' is not percent-encoded UTF-8.")
        }
        guard !decoded.utf8.contains(0) else { throw .badRequest("A query must not contain the character NUL.") }
        return decoded
    }
}
