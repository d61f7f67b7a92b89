import Foundation
import NightshiftAPI

/// An option of aria2: its values, and its effect in Nightshift.
struct Option: Hashable, Sendable {
    var name: String
    var scope: Scope
    var values: Values
    /// The default of aria2; nil if the option has none.
    var standard: String?
    var support: Support
    /// A sentence for users about the effect.
    var remark: String

    enum Scope: String, Sendable, CaseIterable {
        /// An option of each download that `getOption` and `getGlobalOption` always show.
        case task
        /// An option of the whole program.
        case global
        /// An option of a download that is shown only after it was set.
        case input
    }

    enum Support: String, Sendable, CaseIterable {
        case works
        case differs
        /// Values other than the default are refused, because they would have an effect that Nightshift does not have.
        case refused
        /// The option is accepted and shown, and has no effect.
        case none
    }

    enum Values: Hashable, Sendable {
        case text
        case bool
        case number(ClosedRange<Int64>)
        case choice([String])
    }

    /// Whether the value can be a list of lines.
    var isList: Bool { name == "header" }

    /// Whether the option can be set for all downloads together. aria2 ignores the others in `changeGlobalOption`.
    var isStandard: Bool {
        !["checksum", "enable-rpc", "gid", "out", "pause"].contains(name) && !name.hasPrefix("rpc-")
    }

    /// Whether the option can be set for one download.
    var isOfDownload: Bool { scope != .global || name == "ca-certificate" }

    /// Parses a row of the table.
    init?(row: Substring) {
        var columns = row.split(separator: "|", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
        columns += Array(repeating: "", count: max(0, 6 - columns.count))
        guard columns.count == 6, let scope = Scope(rawValue: columns[1]), let values = Values(columns[2]) else {
            return nil
        }
        name = columns[0]
        self.scope = scope
        self.values = values
        standard = columns[3].isEmpty ? nil : columns[3]
        guard let support = Support(rawValue: columns[4].isEmpty ? "none" : columns[4]) else { return nil }
        self.support = support
        remark = columns[5]
    }

    /// Returns the value in the form in which aria2 shows it.
    ///
    /// - Throws: aria2's error for a wrong value, or a sentence for a value that Nightshift refuses.
    func canonical(_ value: String) throws(RPCError) -> String {
        guard let canonical = values.canonical(value) else {
            throw RPCError("We encountered a problem while processing the option '--\(name)'.")
        }
        if support == .refused, canonical != standard {
            throw RPCError("Nightshift does not support --\(name)=\(canonical). See docs/aria2.md.")
        }
        return canonical
    }
}

extension Option.Values {
    /// Parses the third column of a row.
    fileprivate init?(_ text: String) {
        let words = text.split(separator: " ").map(String.init)
        switch words.first {
        case "text": self = .text
        case "bool": self = .bool
        case "one": self = .choice(Array(words.dropFirst(2)))
        case "number" where words.count == 2:
            let ends = words[1].split(separator: "-")
            guard ends.count == 2, let first = Int64(ends[0]) else { return nil }
            guard let last = ends[1] == "*" ? Int64.max : Int64(ends[1]) else { return nil }
            self = .number(first...last)
        default: return nil
        }
    }

    fileprivate func canonical(_ text: String) -> String? {
        switch self {
        case .text: return text
        case .bool: return ["true", "false"].contains(text) ? text : nil
        case .choice(let values): return values.contains(text) ? text : nil
        case .number(let range):
            guard let number = Self.number(text), range.contains(number) else { return nil }
            return String(number)
        }
    }

    /// Returns a number with an optional unit K or M, which multiply by 1024 and 1024².
    private static func number(_ text: String) -> Int64? {
        let units: [Character: Int64] = ["K": 1 << 10, "k": 1 << 10, "M": 1 << 20, "m": 1 << 20]
        let unit = text.last.flatMap { units[$0] }
        guard let number = Int64(unit == nil ? text : String(text.dropLast())) else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit ?? 1)
        return overflow ? nil : product
    }
}
