import Foundation
import Testing

@testable import Aria2Bridge

/// B7: Tests that compare `docs/aria2.md` with the program.
@Suite struct DocumentTests {
    private static let document = Result {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "docs/aria2.md"), encoding: .utf8)
    }

    @Test func `The document has each option with its remark`() throws {
        let document = try Self.document.get()
        for option in Option.all.values {
            let row = option.support == .none ? "`\(option.name)`" : "| `\(option.name)` | \(option.remark) |"
            #expect(document.contains(row), "\(option.name)")
        }
    }

    @Test func `The document has each method`() throws {
        let document = try Self.document.get()
        for method in Bridge.methodNames { #expect(document.contains("`\(method)`"), "\(method)") }
    }
}
