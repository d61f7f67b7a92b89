import Foundation
import Testing

/// Tests of words that make sentences hard to read. Each target has a recorded number of uses, which may only fall.
@Suite struct WordTests {
    private static let fixture = "Tests/Fixtures/word-counts.txt"

    /// `NIGHTSHIFT_RECORD=1` lowers the recorded numbers to the current ones, and never raises a number.
    @Test func `No target uses an avoided word more often than recorded`() throws {
        let tree = SourceTree.current
        let today = try WordCounts(of: tree)
        let recorded = WordCounts(text: try tree.text(Self.fixture))
        if ProcessInfo.processInfo.environment["NIGHTSHIFT_RECORD"] == "1" {
            try today.limited(to: recorded).text
                .write(to: tree.root.appending(path: Self.fixture), atomically: true, encoding: .utf8)
        }
        for target in Set(today.uses.keys).union(recorded.uses.keys).sorted() {
            let uses = today.uses[target] ?? [:]
            let limits = recorded.uses[target] ?? [:]
            for phrase in Set(uses.keys).union(limits.keys).sorted() {
                let count = uses[phrase] ?? 0
                let limit = limits[phrase] ?? 0
                #expect(count <= limit, "\(target) uses \"\(phrase)\" \(count) times; write it more plainly")
                #expect(count >= limit, "\(target): lower the number of \"\(phrase)\" with NIGHTSHIFT_RECORD=1")
            }
        }
    }

    @Test func `The checker finds words only in comments, strings and test names`() {
        let source = SwiftSource(
            """
            /// Callers that want
            /// it no longer, or any
            /// more of it anew.
            @Test func `Whoever calls is answered`() { print("a Whom", other: anew) }  // behind it
            let whom = 1  // The server is behind a proxy. unaware of whomever.
            """)
        #expect(Prose(source).counts == ["any more": 1, "anew": 1, "whoever": 1, "whom": 1, "behind": 1])
    }

    @Test func `The checker takes only the first line of a doc comment as its opening`() {
        let source = SwiftSource(
            """
            /// What it is.
            /// Who it is.
            let a = 1
            /// Whether it is.
            /// As it is.
            let b = 1
                /// Those that are.
            // What a comment says.
            /// Offset, in bytes.
            """)
        #expect(Prose(source).counts == ["/// What": 1, "/// Those": 1])
    }
}
