import Foundation
import Testing

/// Files in `Tests/Fixtures/CLI` with the expected output of the program.
///
/// `NIGHTSHIFT_RECORD=1` writes them again. The difference is then reviewed with the change.
enum Fixture {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func check(_ name: String, _ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let file = root.appending(path: "Tests/Fixtures/CLI/\(name).txt")
        let whole = text.hasSuffix("\n") ? text : text + "\n"
        if ProcessInfo.processInfo.environment["NIGHTSHIFT_RECORD"] == "1" {
            try Data(whole.utf8).write(to: file)
            return
        }
        let recorded = try? String(contentsOf: file, encoding: .utf8)
        #expect(whole == recorded, "differs from \(name).txt; see NIGHTSHIFT_RECORD", sourceLocation: sourceLocation)
    }
}
