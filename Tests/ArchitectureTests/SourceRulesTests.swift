import Testing

/// What holds for every source file, whatever its target.
@Suite struct SourceRulesTests {
    private func forEachSource(below folder: String = "Sources", _ body: (String, SwiftSource) -> Void) throws {
        let sources = SourceTree.sources(below: folder)
        try #require(!sources.isEmpty)
        for (path, source) in sources { body(path, source) }
    }

    @Test func `Files stay short enough to be read`() throws {
        try forEachSource { path, source in
            let lines = source.text.utf8.count { $0 == UInt8(ascii: "\n") }
            #expect(lines <= 500, "\(path)")
        }
    }

    @Test func `Nothing is left to be done`() throws {
        try forEachSource { path, source in
            #expect(source.unfinished == [], "\(path)")
        }
    }

    @Test func `Only the command line prints`() throws {
        try forEachSource { path, source in
            guard !path.hasPrefix("Sources/CLI/") else { return }
            #expect(source.calls(of: "print") + source.calls(of: "debugPrint") == [], "\(path)")
        }
    }

    @Test func `What switches a check of the compiler off says why it may`() throws {
        try forEachSource { path, source in
            #expect(source.unexplainedExceptions == [], "\(path)")
        }
    }

    @Test(arguments: ["Sources/Scheduler", "Sources/Transfers/Exchange", "Sources/Apps/Machine", "Sources/Simulation"])
    func `Decisions read no clock, no chance and no global`(folder: String) throws {
        try forEachSource(below: folder) { path, source in
            for word in [
                "ContinuousClock", "SuspendingClock", "FileManager", "ProcessInfo", "SystemRandomNumberGenerator",
            ] {
                #expect(source.mentions(of: word) == [], "\(path) mentions \(word)")
            }
            #expect(source.calls(of: "getenv") == [], "\(path)")
            #expect(!source.code.contains("Date()") && !source.code.contains("Date.now"), "\(path)")
        }
    }
}
