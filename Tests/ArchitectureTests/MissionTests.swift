import Foundation
import Testing

/// Tests that `docs/mission.md` lists every row of the mission with the suites that cover it.
@Suite struct MissionTests {
    let list: MissionList
    /// All tests except those of this target, which mention layers L0 to L5.
    let tests = SourceTree.tests.filter { !$0.path.hasPrefix("Tests/ArchitectureTests/") }

    init() throws {
        list = MissionList(markdown: try SourceTree.current.text("docs/mission.md"))
    }

    @Test func `Mission rows are numbered without gaps, and each row says what has to work`() {
        for (letter, count) in [("T", 13), ("L", 8), ("R", 10), ("B", 9)] {
            let names = list.rows.map(\.name).filter { $0.hasPrefix(letter) }
            #expect(names == (1...count).map { "\(letter)\($0)" })
        }
        #expect(list.rows.filter { $0.statement.count < 20 || !$0.statement.hasSuffix(".") } == [])
    }

    @Test func `Tests mention only mission rows that exist`() {
        let names = Set(list.rows.map(\.name))
        for (path, text) in tests {
            #expect(MissionList.mentioned(in: text).subtracting(names) == [], "\(path)")
        }
    }

    /// A failure shows the suites to add to the row or to remove from it.
    @Test func `Each mission row names exactly the suites that mention it`() throws {
        let suites = MissionList.suites(of: tests)
        try #require(suites.count > 20)
        for row in list.rows {
            let mentioning = suites[row.name] ?? []
            #expect(mentioning.subtracting(row.suites) == [], "\(row.name) does not name them")
            #expect(Set(row.suites).subtracting(mentioning) == [], "\(row.name) names them, and they do not mention it")
            #expect(row.suites.count == Set(row.suites).count, "\(row.name) names one twice")
        }
    }

    @Test func `A mission row is open if and only if no suite covers it`() {
        for row in list.rows { #expect(row.isOpen == row.suites.isEmpty, "\(row.name)") }
    }

    // MARK: - The reader itself

    @Test func `The checker reads the mission list row by row`() {
        let list = MissionList(
            markdown: """
                # Rows
                ## T. Letters
                ### T1
                It works, and
                continues.

                - `CLITests`: `AbcTests`, `DefTests`,
                  `GhiTests`
                - `StoreTests`: `AbcTests`

                ### T2
                It will.

                Open, but for a part.
                ## Elsewhere
                - `CLITests`: `XyzTests`
                """)
        #expect(
            list.rows == [
                MissionList.Row(
                    name: "T1", statement: "It works, and continues.",
                    suites: ["CLITests/AbcTests", "CLITests/DefTests", "CLITests/GhiTests", "StoreTests/AbcTests"]),
                MissionList.Row(name: "T2", statement: "It will.", isOpen: true),
            ])
    }

    @Test func `The checker finds the name of a row only as a separate word`() {
        let text = "/// Rows L1 and T7, (R9); see `B2: x` and T3: y. Not %E3%B9, xB1, T100, T1x, _T2 or a-L2."
        #expect(MissionList.mentioned(in: text) == ["L1", "T7", "R9", "B2", "T3"])
        let tests = [
            ("Tests/AppsTests/Machine/DozeTests.swift", "@Test func `L4: x`() {}"),
            ("Tests/AppsTests/Scene.swift", "/// L4: a part of no suite"),
        ]
        #expect(MissionList.suites(of: tests) == ["L4": ["AppsTests/DozeTests"]])
    }
}
