import Foundation

/// A command line that a document shows its readers.
package struct DocumentedCommand: Sendable, Hashable, CustomStringConvertible {
    package enum Form: Sendable {
        /// A command in a fenced block, for copying.
        case block
        /// A command in backticks within a sentence, possibly without its last arguments.
        case span
    }

    /// The path of the document, relative to the project's folder.
    package let document: String
    package let line: Int
    package let form: Form
    /// The command without a prompt. It has several lines if quotes or a backslash continue it.
    package let text: String

    package init(document: String, line: Int, form: Form, text: String) {
        self.document = document
        self.line = line
        self.form = form
        self.text = text
    }

    package var description: String { "\(document):\(line): \(text)" }

    /// Returns the commands of the documents that users read: README.md, docs/*.md and the README files of the
    /// examples.
    package static func all() throws -> [DocumentedCommand] {
        let files = FileManager.default
        let folder = Programs.source
        let documents =
            try ["README.md"]
            + files.contentsOfDirectory(atPath: folder + "/docs").filter { $0.hasSuffix(".md") }.map { "docs/\($0)" }
            .sorted()
            + files.subpathsOfDirectory(atPath: folder + "/Examples").filter { $0.hasSuffix("README.md") }
            .map { "Examples/\($0)" }.sorted()
        return try documents.flatMap { document in
            try commands(in: String(contentsOfFile: "\(folder)/\(document)", encoding: .utf8), of: document)
        }
    }

    /// Returns the commands in a Markdown text: the lines of fenced blocks, and the code spans.
    ///
    /// In a block with prompts (`$ `) only the lines with a prompt are commands, and the others are output. An indented
    /// line never begins a command.
    package static func commands(in text: String, of document: String) -> [DocumentedCommand] {
        var found: [DocumentedCommand] = []
        var block: (indentation: Int, first: Int, lines: [String])?
        var paragraph: (first: Int, lines: [String]) = (1, [])
        func endParagraph(before next: Int) {
            let code = spans(in: paragraph.lines.joined(separator: "\n")).map { span in
                DocumentedCommand(
                    document: document, line: paragraph.first + span.line, form: .span, text: span.text)
            }
            found += code
            paragraph = (next, [])
        }
        for (index, line) in text.components(separatedBy: "\n").enumerated() {
            let isFence = line.drop { $0 == " " }.hasPrefix("```")
            if let open = block {
                if isFence {
                    found += commands(inBlock: open.lines, from: open.first, of: document)
                    block = nil
                } else {
                    let indentation = line.prefix(open.indentation).prefix { $0 == " " }.count
                    block?.lines.append(String(line.dropFirst(indentation)))
                }
                paragraph.first = index + 2
            } else if isFence {
                endParagraph(before: index + 1)
                block = (line.prefix { $0 == " " }.count, index + 2, [])
            } else if line.hasPrefix("|") || line.allSatisfy(\.isWhitespace) {
                endParagraph(before: index + 1)
                paragraph.lines = [line]
                endParagraph(before: index + 2)
            } else {
                paragraph.lines.append(line)
            }
        }
        endParagraph(before: 0)
        return found
    }

    private static func spans(in paragraph: String) -> [(line: Int, text: String)] {
        paragraph.matches(of: /`([^`]+)`/).map { match in
            let line = paragraph[..<match.range.lowerBound].count { $0 == "\n" }
            return (line, match.output.1.split(whereSeparator: \.isWhitespace).joined(separator: " "))
        }
    }

    private static func commands(
        inBlock lines: [String], from first: Int, of document: String
    ) -> [DocumentedCommand] {
        let hasPrompts = lines.contains { $0.hasPrefix("$ ") }
        var found: [DocumentedCommand] = []
        var index = 0
        while index < lines.count {
            let start = index
            var text = hasPrompts ? String(lines[index].dropFirst(2)) : lines[index]
            index += 1
            guard hasPrompts ? lines[start].hasPrefix("$ ") : text.first.map({ !$0.isWhitespace }) == true else {
                continue
            }
            // A quote of JSON, or of a sentence, may stay open to the end.
            var end = index
            var whole = text
            while ShellLine(whole) == nil, end < lines.count {
                whole += "\n" + lines[end]
                end += 1
            }
            if ShellLine(whole) != nil { (text, index) = (whole, end) }
            found.append(DocumentedCommand(document: document, line: first + start, form: .block, text: text))
        }
        return found
    }
}
