/// The list in `docs/architecture.md` of files that execute the decisions made by values.
struct EffectsFiles {
    /// The paths of the files, from the project's root.
    var paths: [String]

    init(markdown: String) {
        let table = DocumentTable(["Effects", "What they carry out"], in: markdown)
        paths = table.rows.map { cells in DocumentTable.names(in: cells[0]).first.map { "Sources/\($0)" } ?? "" }
    }

    /// Whether `path` is a file of effects. Files named `…+Effects.swift` need no row.
    func contains(_ path: String) -> Bool { paths.contains(path) || path.hasSuffix("+Effects.swift") }
}

extension SwiftSource {
    /// A line of code that decides although its file should only execute.
    struct Decision: Equatable {
        var line: Int
        var reason: String
    }

    /// The decisions in the code that can be recognized without a compiler.
    var decisions: [Decision] {
        let lines = code.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.enumerated().flatMap { index, line in
            Self.reasons(line).map { Decision(line: index + 1, reason: $0) }
        }
    }

    private static func reasons(_ line: Substring) -> [String] {
        // Word boundaries are spelled out, because `\b` treats `a.b` as one word.
        var reasons: [String] = []
        // These patterns test the meaning of a failure: its code, or whether it is permanent.
        let failure = /\.code\s*[!=]=|switch\s[^{]*\.code(?:\W|$)|\.isPermanent(?:\W|$)/
        if line.contains(failure) { reasons.append("looks into a failure") }
        if line.contains(/switch\s[^{]*\.state(?:\W|$)/) { reasons.append("tells states of a task apart") }
        if line.contains(/\.(?:attempts|failures|fruitless|restarts|repetitions)\s*(?:[<>+-]|[!=]=)/) {
            reasons.append("counts attempts")
        }
        if line.contains(/RetrySchedule\.delay(?:\W|$)|\Wrandom\(\)/) { reasons.append("chooses a pause") }
        if line.contains(/(?:bootSeconds|awakeSeconds|wallSeconds)(?:\W|$)/), line.contains(/\s[<>]=?\s/) {
            reasons.append("compares times")
        }
        for match in line.matches(of: /(?:(?:^|\W)apply\(|(?:^|\W)TaskEvent(?:\s*=\s*)?)\.(\w+)/) {
            reasons.append("makes up the event '\(match.output.1)'")
        }
        return reasons
    }
}
