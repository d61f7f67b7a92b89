import Testing

/// Rules for every source file, whatever its target.
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

    /// Decision 0035: what asks or changes two parts is an operation below every front end.
    @Test func `A route of the local API is a translation of one call`() throws {
        var found = 0
        try forEachSource(below: "Sources/LocalAPI") { path, source in
            guard path.hasPrefix("Sources/LocalAPI/Routes+") else {
                // Nothing else has the parts at hand.
                guard path != "Sources/LocalAPI/Routes.swift" else { return }
                for part in ["TransferService", "AppService", "RefreshService"] {
                    #expect(source.mentions(of: part) == [], "\(path)")
                }
                return
            }
            let routes = RouteCalls.all(in: source)
            found += routes.count { !$0.calls.isEmpty }
            for route in routes where route.isMoreThanTranslation {
                Issue.record("\(path):\(route.line) calls \(route.calls.joined(separator: ", "))")
            }
        }
        #expect(found > 40)
    }

    @Test func `What switches a check of the compiler off says why it may`() throws {
        try forEachSource { path, source in
            #expect(source.unexplainedExceptions == [], "\(path)")
        }
    }

    /// A function that is the whole value of a mutex is wrapped once more with every access, so that each call of it takes longer
    /// than the one before, and more stack. As a property of a struct it is not.
    @Test func `No mutex has a function for its value`() throws {
        let tree = SourceTree.current
        for folder in ["Sources", "Gateway/Sources", "Benchmarks", "Tests", "Examples"] {
            for path in try tree.files(below: folder, extensions: ["swift"]) {
                let text = try tree.text(path)
                let functions = text.matches(of: #/typealias (\w+)[^=\n]*=[^\n]*->/#).map(\.output.1)
                for mutex in text.matches(of: #/Mutex<(?:\(@Sendable|[^>\n]*->|(\w+)\??>)/#) {
                    #expect(mutex.output.1.map { !functions.contains($0) } ?? false, "\(path): \(mutex.output.0)")
                }
            }
        }
    }

    /// An event that a task's state has no exit for is a mistake that has to be seen.
    @Test func `No transition vanishes`() throws {
        try forEachSource { path, source in
            #expect(source.silencedTransitions == [], "\(path)")
        }
        // Each goes through the one function that asserts, or is refused with a reason.
        let ways = SourceTree.sources(below: "Sources/Transfers").filter { _, source in
            source.code.contains(/try\s+(?:[\w.]+\.)?apply\(/)
        }
        #expect(
            ways.map(\.path) == [
                "Sources/Transfers/Service/TransferService+Tasks.swift",
                "Sources/Transfers/Tasks/TaskMachine+Legality.swift",
            ])
    }

    /// What becomes of a transfer that runs is decided by its run; the service only carries it out.
    @Test func `Nobody but a run applies the events of one`() throws {
        let decisions = "Sources/Transfers/Running/Decisions/"
        let events = [
            "begin", "accept", "checkpoint", "interrupt", "hold", "keep", "sendOn", "sendAgain", "ask", "finish",
            "publish",
            "complete", "fetchAgain", "fail",
        ]
        var applied = 0
        for (path, source) in SourceTree.sources(below: "Sources/Transfers") {
            let found = events.filter { source.code.contains("apply(.\($0)") }
            if path.hasPrefix(decisions) { applied += found.count } else { #expect(found == [], "\(path)") }
        }
        #expect(applied >= events.count)
    }

    /// A test waits for what it means. Where no event can stand for that, it says why: `passTime(_:because:)`.
    @Test func `Tests sleep in one file alone, whose callers say why`() throws {
        let tests = SourceTree.tests.filter { $0.text.contains("sleep") }
        try #require(tests.count > 10)
        for (path, text) in tests where path != "Tests/TestSupport/PassingTime.swift" {
            #expect(SwiftSource(text).sleeps == [], "\(path)")
        }
    }

    /// A machine that does other work as well makes every test slow: that something is fast is measured in `Benchmarks`.
    @Test func `No test says that something may not take longer`() throws {
        let tests = SourceTree.tests.filter {
            $0.text.contains("< .") || $0.text.contains("<= .") || $0.text.contains("timeLimit")
        }
        try #require(tests.count > 10)
        for (path, text) in tests {
            let source = SwiftSource(text)
            #expect(source.durationBounds == [], "\(path)")
            // Its only use is that a test that hangs ends.
            #expect(source.testTimeLimits.allSatisfy { $0 >= 20 }, "\(path)")
        }
    }

    /// The standard library's conversions end the process where a number does not fit. ``NightshiftAPI`` puts its own before
    /// them, which the compiler refuses: wherever it is imported.
    @Test func `Where numbers with a fraction become whole ones, the compiler looks on`() throws {
        let types = ["Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64"]
        // The C library's names for them.
        let names = [
            "CInt", "CLong", "CUnsignedInt", "mode_t", "nfds_t", "off_t", "pid_t", "rlim_t", "size_t", "socklen_t",
            "ssize_t", "suseconds_t", "time_t", "useconds_t",
        ]
        let fractions = ["Double", "Float", "TimeInterval", "rounded", "Duration"]
        // A duration divided by another is a number with a fraction as well.
        let units = [".seconds(", ".milliseconds(", ".microseconds(", ".nanoseconds("]
        var found = 0
        try forEachSource { path, source in
            guard !path.hasPrefix("Sources/NightshiftAPI/"),
                (types + names).contains(where: { !source.calls(of: $0).isEmpty }),
                fractions.contains(where: { !source.mentions(of: $0).isEmpty })
                    || units.contains(where: source.code.contains)
            else { return }
            found += 1
            #expect(source.imports.contains("NightshiftAPI"), "\(path)")
            // What stands before the compiler's own must not be stepped around.
            #expect(!source.code.contains("Swift.Int"), "\(path)")
        }
        #expect(found > 5)
    }

    /// By those who serve the API, and in one folder by those who ask.
    @Test func `Paths of the local API are written once`() throws {
        let homes = ["Sources/LocalAPI/", "Sources/NightshiftClient/API/"]
        try forEachSource { path, source in
            let isHome = homes.contains(where: path.hasPrefix)
            #expect(isHome || source.localPaths == [], "\(path)")
        }
        // These show the API as any program sees it, or stand in for the service and look at what is asked of it.
        let showing = ["LocalAPI", "CLI", "Daemon", "Nightshift", "EndToEnd", "NightshiftCurl", "Architecture", "Page"]
            .map { "Tests/\($0)Tests/" }
        for (path, text) in SourceTree.tests where !showing.contains(where: path.hasPrefix) {
            #expect(SwiftSource(text).localPaths == [], "\(path)")
        }
    }

    /// Queries read columns only: renaming a property must not change what is found.
    @Test func `Queries do not look into JSON by the names of properties`() throws {
        try forEachSource(below: "Sources/Store") { path, source in
            // What a migration did stays as it is.
            guard !path.hasPrefix("Sources/Store/Migrations") else { return }
            for word in ["json_extract", "json_type", "json_set", "->>", "'$."] {
                #expect(!source.text.contains(word), "\(path) has \(word)")
            }
        }
    }

    @Test(arguments: [
        "Sources/Scheduler", "Sources/Transfers/Exchange", "Sources/Transfers/Running/Decisions",
        "Sources/Apps/Machine", "Sources/Refresh/Book", "Sources/Location/Book", "Sources/Push/Book",
        "Sources/Notifications/Book", "Sources/Nightshift/Session/Machine",
        "Sources/Simulation",
    ])
    func `Decisions read no clock, no chance and no global`(folder: String) throws {
        try forEachSource(below: folder) { path, source in
            for word in [
                "ContinuousClock", "SuspendingClock", "FileManager", "ProcessInfo", "SystemRandomNumberGenerator",
            ] {
                #expect(source.mentions(of: word) == [], "\(path) mentions \(word)")
            }
            // A decision is given a reading of the clocks.
            #expect(!source.imports.contains("Clock"), "\(path)")
            #expect(source.calls(of: "getenv") == [], "\(path)")
            #expect(!source.code.contains("Date()") && !source.code.contains("Date.now"), "\(path)")
        }
    }

    /// Foundation's own rules for cookies on Linux are the host alone, and its parser traps at what some servers send.
    @Test func `Cookies are chosen and read in one place each`() throws {
        let home = "Sources/Nightshift/Configuration/BackgroundConfiguration+Cookies.swift"
        var found = 0
        try forEachSource { path, source in
            let chosen = source.code.matches(of: /cookies\(for:/).count
            if path == home { found += chosen } else { #expect(chosen == 0, "\(path)") }
            #expect(!source.code.contains("withResponseHeaderFields"), "\(path)")
            #expect(!source.code.contains("requestHeaderFields"), "\(path)")
        }
        #expect(found == 1)
    }

    /// Those of Foundation's methods for files that throw nothing end the process where the system says no, as on a full disk.
    @Test func `Files are read and written by methods that can fail`() throws {
        let tree = SourceTree.current
        let words = [
            "readDataToEndOfFile", "readData", "availableData", "seekToEndOfFile", "toFileOffset", "offsetInFile",
            "truncateFile", "synchronizeFile", "closeFile",
        ]
        var found = 0
        for folder in ["Sources", "Examples", "Gateway", "Benchmarks"] {
            for path in try tree.files(below: folder, extensions: ["swift"]) {
                let source = SwiftSource(try tree.text(path))
                guard !source.mentions(of: "FileHandle").isEmpty else { continue }
                found += 1
                for word in words { #expect(source.mentions(of: word) == [], "\(path) mentions \(word)") }
                let written = /(?:standardError|standardOutput|[hH]andle|file)\??\.write\((?!\s*contentsOf:)/
                #expect(!source.code.contains(written), "\(path)")
            }
        }
        #expect(found > 5)
    }

    /// Foundation's other ways stop after the first page of a file whose size says 0.
    @Test func `Files of the kernel are read in one place`() throws {
        let read = /(?:contentsOfFile:|contentsOf:|contents\(atPath:)[^\n]*"(?:\/proc|\/sys|\\\([a-z.]*\)\/cgroup)/
        try forEachSource { path, source in
            #expect(!source.text.contains(read), "\(path)")
        }
    }
}
