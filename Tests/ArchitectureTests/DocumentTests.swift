import Foundation
import Testing

/// The documents name only things that exist, and cover everything that has to be documented.
@Suite struct DocumentTests {
    let tree = SourceTree.current

    private func documents() throws -> [String] {
        try tree.files(in: "", extensions: ["md"])
            + ["docs", "changelog"].flatMap { try tree.files(below: $0, extensions: ["md"]) }
    }

    @Test func `Every link leads to a file or a heading that exists`() throws {
        let paths = try documents()
        #expect(paths.contains("README.md"))
        for path in paths {
            #expect(Markdown(try tree.text(path)).brokenLinks(at: path, in: tree) == [], "\(path)")
        }
    }

    @Test func `The decisions are numbered without gaps, and the index lists all of them`() throws {
        let names = try tree.files(below: "docs/decisions", extensions: ["md"])
            .map { String($0.dropFirst("docs/decisions/".count)) }
            .filter { $0 != "README.md" }
        try #require(!names.isEmpty)
        let numbers = names.map { $0.wholeMatch(of: /(\d{4})-[a-z0-9-]+\.md/).flatMap { Int($0.output.1) } }
        #expect(numbers == (1...names.count).map { $0 }, "\(names)")
        let listed = Markdown(try tree.text("docs/decisions/README.md")).localLinks
        #expect(Set(names).subtracting(listed) == [])
    }

    @Test func `Each unreleased change has a number and a kind`() throws {
        for path in try tree.files(below: "changelog/unreleased", extensions: ["md"]) {
            let name = path.dropFirst("changelog/unreleased/".count)
            #expect(name.wholeMatch(of: /\d{4}-[a-z0-9-]+\.md/) != nil, "\(path)")
            let first = try tree.text(path).prefix { $0 != "\n" }
            #expect(["## Added", "## Changed", "## Fixed", "## Removed", "## Security"].contains(first), "\(path)")
        }
    }

    @Test func `The command line manual contains every subcommand`() throws {
        let manual = try tree.text("docs/cli.md")
        let commands = SourceTree.sources(below: "Sources/Clients/CLI").flatMap { CommandNames(in: $0.source).all }
        try #require(commands.contains("get") && commands.contains("why"))
        let missing = commands.filter {
            $0 != "nightshift" && !CommandNames.isDocumented($0, among: commands, in: manual)
        }
        #expect(missing == [])
    }

    @Test func `Every command that a document shows exists`() throws {
        let commands =
            SourceTree.sources(below: "Sources/Clients/CLI").flatMap { CommandNames(in: $0.source).all } + ["help"]
        let targets = try tree.text("Makefile").matches(of: /(?m)^([a-z][a-z-]*):/).map { String($0.output.1) }
        try #require(commands.contains("get") && targets.contains("test"))
        // The changes of a release may name commands that a later one has renamed.
        for path in try documents() where !path.hasPrefix("changelog/") && !path.hasPrefix("docs/releases/") {
            let page = Markdown(try tree.text(path))
            #expect(page.words(after: "nightshift").subtracting(commands) == [], "\(path)")
            #expect(page.words(after: "make").subtracting(targets) == [], "\(path)")
            let scripts = page.code.flatMap { line in
                line.matches(of: /(?:^|[\s(])((?:scripts|\.ci)\/[\w.-]+)/).map { String($0.output.1) }
            }
            #expect(scripts.filter { !tree.exists($0) } == [], "\(path)")
        }
    }

    @Test func `docs/limits.md contains every limit`() throws {
        let limits = try tree.text("Sources/API/NightshiftAPI/Limits.swift")
            .matches(of: /static let (\w+)/).map { String($0.output.1) }
        try #require(limits.count > 10)
        let document = try tree.text("docs/limits.md")
        let missing = limits.filter { !document.contains("`\($0)`") && !document.contains("`Limits.\($0)`") }
        #expect(missing == [])
    }
}
