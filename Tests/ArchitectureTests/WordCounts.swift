import Foundation

/// The numbers of uses of avoided phrases, by target and phrase.
struct WordCounts {
    private(set) var uses: [String: [String: Int]] = [:]

    /// The folders that contain targets.
    private static let groups = ["Sources", "Gateway/Sources", "Tests", "Gateway/Tests"]
    /// The folders that count as one target each.
    private static let folders = ["Benchmarks", "Examples", "docs", "changelog", "scripts", "packaging"]
    private static let extensions: Set<String> = [
        "swift", "c", "h", "js", "css", "html", "md", "sh", "py", "service", "socket", "desktop",
    ]
    /// The files that have to contain the phrases.
    private static let naming = ["Prose.swift", "WordTests.swift"]

    /// Counts the phrases of a tree. Files in its root count as documents.
    init(of tree: SourceTree) throws {
        var targets = Self.folders
        for group in Self.groups {
            // A symbolic link leads to files of another target, which are not counted here.
            targets += try tree.targets(below: group).values.filter { !tree.isLink($0) }
        }
        for target in targets {
            for path in try tree.files(below: target, extensions: Self.extensions) {
                try add(path, of: tree, to: target)
            }
        }
        for path in try tree.files(in: "", extensions: ["md", "swift"]) { try add(path, of: tree, to: "docs") }
    }

    private mutating func add(_ path: String, of tree: SourceTree, to target: String) throws {
        guard !Self.naming.contains(where: path.hasSuffix) else { return }
        let text = try tree.text(path)
        let prose = path.hasSuffix(".swift") ? Prose(SwiftSource(text)) : Prose(document: text)
        for (phrase, count) in prose.counts { uses[target, default: [:]][phrase, default: 0] += count }
    }

    /// Reads ``text``, and skips lines of another form.
    init(text: String) {
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: "\t").map(String.init)
            guard fields.count == 3 else { continue }
            uses[fields[0], default: [:]][fields[1]] = Int(fields[2])
        }
    }

    /// The sorted lines of target, phrase and number, separated by tabs.
    var text: String {
        uses.flatMap { target, counts in counts.map { "\(target)\t\($0.key)\t\($0.value)\n" } }.sorted().joined()
    }

    /// Returns these numbers, none of them above the number in `limits`.
    func limited(to limits: WordCounts) -> WordCounts {
        var limited = WordCounts(text: "")
        for (target, counts) in uses {
            for (phrase, count) in counts {
                let limit = limits.uses[target]?[phrase] ?? 0
                if limit > 0 { limited.uses[target, default: [:]][phrase] = min(count, limit) }
            }
        }
        return limited
    }
}
