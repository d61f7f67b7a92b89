import Testing

/// What `docs/architecture.md` says of the way of a download, and of who decides on it.
@Suite struct WalkTests {
    let document: String
    let walk: Walk
    let effects: EffectsFiles

    init() throws {
        document = try SourceTree.current.text("docs/architecture.md")
        walk = Walk(markdown: document)
        effects = EffectsFiles(markdown: document)
    }

    @Test func `The walk of nightshift get is as it is written down`() throws {
        try #require(walk.steps.count > 30)
        #expect(walk.steps.map(\.number) == Array(1...walk.steps.count))
        for step in walk.steps {
            let text = try SourceTree.current.text(step.path)
            #expect(SwiftSource(text).missing(step.functions) == [], "\(step.path)")
        }
    }

    @Test func `The walk has one row for each file, and says how many there are`() {
        let paths = walk.steps.map(\.path)
        #expect(Set(paths).count == paths.count)
        #expect(document.contains("It crosses \(paths.count) files"))
    }

    @Test func `Where the walk comes back to a file is said of files that it crosses`() throws {
        let returns = DocumentTable(["Entered again", "How often, and why"], in: document).rows
        try #require(!returns.isEmpty)
        let names = Set(walk.steps.map { String($0.path.split(separator: "/").last ?? "") })
        #expect(returns.flatMap { DocumentTable.names(in: $0[0]) }.filter { !names.contains($0) } == [])
    }

    @Test func `No decision is made in an effects file`() throws {
        try #require(effects.paths.count > 5)
        let paths = Set(SourceTree.sources.map(\.path))
        #expect(effects.paths.filter { !paths.contains($0) } == [])
        for (path, source) in SourceTree.sources where effects.contains(path) {
            #expect(source.decisions == [], "\(path)")
        }
    }
}

/// The files that a download crosses, in the order in which it does.
struct Walk {
    struct Step: Equatable {
        var number: Int
        /// From the root.
        var path: String
        var functions: [String]
    }

    var steps: [Step]

    init(markdown: String) {
        let table = DocumentTable(["Step", "File", "Function", "What happens", "In, out"], in: markdown)
        steps = table.rows.map { cells in
            Step(
                number: Int(cells[0]) ?? 0, path: DocumentTable.names(in: cells[1]).first.map { "Sources/\($0)" } ?? "",
                functions: DocumentTable.names(in: cells[2]))
        }
    }
}

extension SwiftSource {
    /// Those of the functions, initialisers and properties that are not declared here.
    func missing(_ names: [String]) -> [String] {
        names.filter { name in
            name == "init" ? !code.contains(" init(") : mentions(declaring: name) == false
        }
    }

    private func mentions(declaring name: String) -> Bool {
        code.matches(of: /(?:^|\W)(?:func|var|let)\s+(\w+)/).contains { $0.output.1 == name }
    }
}
