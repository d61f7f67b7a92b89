import Testing

/// Tests of the path of a download in `docs/architecture.md`, and of the effects files in `docs/download.md`.
@Suite struct WalkTests {
    let walk: Walk
    let effects: EffectsFiles

    init() throws {
        walk = Walk(markdown: try SourceTree.current.text("docs/architecture.md"))
        effects = EffectsFiles(markdown: try SourceTree.current.text("docs/download.md"))
    }

    @Test func `Each file on the documented path of a download declares the functions of its row`() throws {
        try #require(walk.steps.count >= 10)
        #expect(walk.steps.map(\.number) == Array(1...walk.steps.count))
        for step in walk.steps {
            let text = try SourceTree.current.text(step.path)
            #expect(SwiftSource(text).missing(step.functions) == [], "\(step.path)")
        }
    }

    @Test func `Each file on the documented path of a download has one row`() {
        let paths = walk.steps.map(\.path)
        #expect(Set(paths).count == paths.count)
    }

    @Test func `Effects files do not make decisions`() throws {
        try #require(effects.paths.count > 5)
        let paths = Set(SourceTree.sources.map(\.path))
        #expect(effects.paths.filter { !paths.contains($0) } == [])
        for (path, source) in SourceTree.sources where effects.contains(path) {
            #expect(source.decisions == [], "\(path)")
        }
    }
}

/// The files on the path of a download from its request to the wake of its app, in order.
struct Walk {
    struct Step: Equatable {
        var number: Int
        /// The path from the root.
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
    /// Returns the functions, initialisers and properties among `names` that are not declared here.
    func missing(_ names: [String]) -> [String] {
        names.filter { name in
            name == "init" ? !code.contains(" init(") : mentions(declaring: name) == false
        }
    }

    private func mentions(declaring name: String) -> Bool {
        code.matches(of: /(?:^|\W)(?:func|var|let)\s+(\w+)/).contains { $0.output.1 == name }
    }
}
