import ArgumentParser
import Foundation
import Testing

@testable import CLI

/// The commands in the code blocks of README.md, docs and Examples.
struct DocumentedCommandTests {
    /// One command line, as words.
    struct Line: CustomTestStringConvertible, Sendable {
        var file: String
        var words: [String]

        var testDescription: String { "\(file): \(words.joined(separator: " "))" }
    }

    private static let lines: [Line] = {
        let places = ["README.md", "docs", "Examples"].map { name in
            Fixture.root.appending(path: name).path(percentEncoded: false)
        }
        let folders = places.flatMap { place in
            (FileManager.default.subpaths(atPath: place) ?? []).map { "\(place)/\($0)" } + [place]
        }
        let files = folders.filter { $0.hasSuffix(".md") && !$0.contains("/decisions/") }
        return files.sorted().flatMap { file -> [Line] in
            let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
            return commands(in: text).map { Line(file: URL(filePath: file).lastPathComponent, words: $0) }
        }
    }()

    @Test(arguments: lines)
    func `A command that a document shows is valid`(_ line: Line) {
        #expect(throws: Never.self) { try NightshiftCommand.parseAsRoot(line.words) }
    }

    @Test func `The documents show many commands`() {
        #expect(Self.lines.count > 60)
        #expect(Set(Self.lines.map(\.file)).isSuperset(of: ["README.md", "background.md", "location.md", "push.md"]))
    }

    @Test func `Commands are read as a shell reads them`() {
        let text = """
            nightshift outside
            ```
            $ nightshift get -d ~/Downloads 'https://example.org/a b?c=1'   # a comment
            nightshift pause 12; nightshift resume 12 && echo done
            token=$(nightshift push token org.example.Mail)
            nightshift simulate a --json | nightshift timeline --simulation - -o a.svg
            nightshift why "my file" > report.txt
            nightshift-gateway team add A B
            ```
            """
        #expect(
            Self.commands(in: text) == [
                ["get", "-d", "~/Downloads", "https://example.org/a b?c=1"],
                ["pause", "12"], ["resume", "12"],
                ["simulate", "a", "--json"], ["timeline", "--simulation", "-", "-o", "a.svg"],
                ["why", "my file"],
            ])
    }

    // MARK: - Reading

    /// The arguments of each `nightshift` command in the code blocks of a Markdown text.
    private static func commands(in markdown: String) -> [[String]] {
        var isCode = false
        return markdown.components(separatedBy: "\n").flatMap { line -> [[String]] in
            if line.drop(while: \.isWhitespace).hasPrefix("```") {
                isCode.toggle()
                return []
            }
            // A diagram has several spaces after the name; the value of `$(...)` is not known here.
            guard isCode, !line.contains("nightshift  "), !line.contains("$(") else { return [] }
            return split(line.hasPrefix("$ ") ? String(line.dropFirst(2)) : line)
                .filter { $0.first == "nightshift" && $0.count > 1 }
                .map { Array($0.dropFirst()) }
        }
    }

    /// Splits a line into commands, and each command into words. A comment, and everything after `>`, is left out.
    private static func split(_ line: String) -> [[String]] {
        var commands: [[String]] = [[]]
        var word: String?
        var quote: Character?
        var isRedirected = false
        func endWord() {
            if let ended = word, !isRedirected { commands[commands.count - 1].append(ended) }
            word = nil
        }
        for character in line {
            switch (character, quote) {
            case (let end, let open?) where end == open: quote = nil
            case (_, .some): word = (word ?? "") + String(character)
            case ("'", nil), ("\"", nil):
                quote = character
                word = word ?? ""
            case (" ", nil): endWord()
            case ("#", nil) where word == nil: return commands
            case (">", nil):
                endWord()
                isRedirected = true
            case (";", nil), ("|", nil), ("&", nil):
                endWord()
                isRedirected = false
                commands.append([])
            default: word = (word ?? "") + String(character)
            }
        }
        endWord()
        return commands
    }
}
