import Foundation

/// One Markdown file's text.
struct Markdown {
    let text: String

    init(_ text: String) {
        self.text = text
    }

    /// The text without code blocks and code spans, in which brackets have no meaning.
    private var prose: String {
        var inBlock = false
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
            if line.drop(while: \.isWhitespace).hasPrefix("```") {
                inBlock.toggle()
                return false
            }
            return !inBlock
        }
        return lines.joined(separator: "\n").replacing(/`[^`\n]*`/, with: "")
    }

    /// The lines of code blocks, and the code spans.
    var code: [String] {
        var inBlock = false
        return text.components(separatedBy: "\n").flatMap { line -> [String] in
            if line.drop(while: \.isWhitespace).hasPrefix("```") {
                inBlock.toggle()
                return []
            }
            return inBlock ? [line] : line.matches(of: /`([^`]+)`/).map { String($0.output.1) }
        }
    }

    /// Returns the words that follow the program `name` in code, such as `get` in `nightshift get URL`.
    func words(after name: String) -> Set<String> {
        let pattern = try? Regex("(?:^|[\\s;|(\"])\(name) ([a-z][a-z0-9-]*)", as: (Substring, Substring).self)
        guard let pattern else { return [] }
        return Set(code.flatMap { line in line.matches(of: pattern).map { String($0.output.1) } })
    }

    /// The targets of all links to files and headings of this project.
    var localLinks: [String] {
        prose.matches(of: /\]\(([^)\s]+)\)/).map { String($0.output.1) }.filter { !$0.contains(/^[a-z][a-z0-9+.-]*:/) }
    }

    /// The anchors that a link can name after `#`: one per heading, in the form that code hosts use.
    var anchors: Set<String> {
        var inBlock = false
        var anchors: Set<String> = []
        for line in text.split(separator: "\n") {
            if line.hasPrefix("```") { inBlock.toggle() }
            guard !inBlock, let heading = line.wholeMatch(of: /#+ +(.+)/) else { continue }
            let slug = heading.output.1.lowercased()
                .filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }
                .replacing(" ", with: "-")
            anchors.insert(slug)
        }
        return anchors
    }

    /// Returns the path from the root to which a link in the file at `path` leads.
    static func target(of link: String, at path: String) -> String {
        let file = String(link.prefix { $0 != "#" })
        guard !file.isEmpty else { return path }
        let folder = URL(filePath: "/" + path).deletingLastPathComponent()
        return String(folder.appending(path: file).standardizedFileURL.path.dropFirst())
    }

    /// Returns the links of the file at `path` whose targets do not exist.
    func brokenLinks(at path: String, in tree: SourceTree) -> [String] {
        localLinks.filter { link in
            let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
            let target = Self.target(of: link, at: path)
            guard tree.exists(target) else { return true }
            guard parts.count == 2, target.hasSuffix(".md") else { return false }
            guard let text = try? tree.text(target) else { return true }
            return !Markdown(text).anchors.contains(String(parts[1]))
        }
    }
}
