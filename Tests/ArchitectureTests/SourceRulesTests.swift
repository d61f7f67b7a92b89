import Testing

/// Tests of rules that apply to every source file.
@Suite struct SourceRulesTests {
    private func forEachSource(below folder: String = "Sources", _ body: (String, SwiftSource) -> Void) throws {
        let sources = SourceTree.sources(below: folder)
        try #require(!sources.isEmpty)
        for (path, source) in sources { body(path, source) }
    }

    @Test func `No file is longer than the limit`() throws {
        try forEachSource { path, source in
            let lines = source.text.utf8.count { $0 == UInt8(ascii: "\n") }
            #expect(lines <= 500, "\(path)")
        }
    }

    @Test func `No source contains a marker of unfinished work`() throws {
        try forEachSource { path, source in
            #expect(source.unfinished == [], "\(path)")
        }
    }

    @Test func `Only the command line prints`() throws {
        try forEachSource { path, source in
            guard !path.hasPrefix("Sources/Clients/CLI/") else { return }
            #expect(source.calls(of: "print") + source.calls(of: "debugPrint") == [], "\(path)")
        }
    }

    /// Queries and changes that involve two features are operations, which every front end uses (decision 0035).
    @Test func `Each route of the local API translates its request into one call`() throws {
        var found = 0
        try forEachSource(below: "Sources/Service/LocalAPI") { path, source in
            guard path.hasPrefix("Sources/Service/LocalAPI/Routes+") else {
                // No other file has access to the features.
                guard path != "Sources/Service/LocalAPI/Routes.swift" else { return }
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

    @Test func `Each disabled compiler check has a comment with the reason`() throws {
        try forEachSource { path, source in
            #expect(source.unexplainedExceptions == [], "\(path)")
        }
    }

    /// A mutex that directly stores a function wraps it again at every access. Each call then takes longer and uses
    /// more stack than the one before. A function in a property of a struct is not wrapped.
    @Test func `No mutex stores a function`() throws {
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

    /// An event that a task's state does not accept is an error that has to be visible.
    @Test func `The code does not silence errors of impossible transitions`() throws {
        try forEachSource { path, source in
            #expect(source.silencedTransitions == [], "\(path)")
        }
        // Each transition uses the one function that asserts, or the code refuses it with a reason.
        let ways = SourceTree.sources(below: "Sources/Parts/Transfers").filter { _, source in
            source.code.contains(/try\s+(?:[\w.]+\.)?apply\(/)
        }
        #expect(
            ways.map(\.path) == [
                "Sources/Parts/Transfers/Tasks/StoreTransaction+Tasks.swift",
                "Sources/Parts/Transfers/Tasks/TaskMachine+Legality.swift",
            ])
    }

    /// A run decides the outcome of its transfer, and the service only executes the decision.
    @Test func `Only the decisions of a run apply its events`() throws {
        let decisions = "Sources/Parts/Transfers/Running/Decisions/"
        let events = [
            "begin", "accept", "checkpoint", "interrupt", "hold", "keep", "sendOn", "sendAgain", "ask", "finish",
            "publish",
            "complete", "fetchAgain", "fail",
        ]
        var applied = 0
        for (path, source) in SourceTree.sources(below: "Sources/Parts/Transfers") {
            let found = events.filter { source.code.contains("apply(.\($0)") }
            if path.hasPrefix(decisions) { applied += found.count } else { #expect(found == [], "\(path)") }
        }
        #expect(applied >= events.count)
    }

    /// The extensions of a run need write access to its fields, so the compiler cannot refuse it to other code.
    @Test func `Other code changes a run only through its inputs`() throws {
        var found = 0
        for (path, source) in SourceTree.sources(below: "Sources/Parts/Transfers") {
            guard !path.hasPrefix("Sources/Parts/Transfers/Running/Decisions/") else { continue }
            found += source.code.matches(of: /(?:^|\W)run\.\w+\(/).count
            for change in source.code.matches(of: /(?:^|\W)run\.\w+(?:[?!]?\.\w+)*\s*[-+]?=(?!=)/) {
                Issue.record("\(path): \(change.output)")
            }
        }
        #expect(found > 10)
    }

    /// A test waits for the event that it needs. If no such event exists, it gives the reason: `passTime(_:because:)`.
    @Test func `Tests sleep only in one file, whose callers give a reason`() throws {
        let tests = SourceTree.tests.filter { $0.text.contains("sleep") }
        try #require(tests.count > 10)
        for (path, text) in tests where path != "Tests/TestSupport/PassingTime.swift" {
            #expect(SwiftSource(text).sleeps == [], "\(path)")
        }
    }

    /// Other work on the machine makes every test slow, so speed is measured only in `Benchmarks`.
    @Test func `No test requires an upper bound on elapsed time`() throws {
        let tests = SourceTree.tests.filter {
            $0.text.contains("< .") || $0.text.contains("<= .") || $0.text.contains("timeLimit")
        }
        try #require(tests.count > 10)
        for (path, text) in tests {
            let source = SwiftSource(text)
            #expect(source.durationBounds == [], "\(path)")
            // A time limit only serves to end a test that hangs.
            #expect(source.testTimeLimits.allSatisfy { $0 >= 20 }, "\(path)")
        }
    }

    /// The standard library's conversions trap if a number does not fit. ``NightshiftAPI`` declares deprecated
    /// overloads of them, and the compiler reports each use in files that import the module.
    @Test func `The compiler reports trapping conversions from fractions to integers`() throws {
        let types = ["Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64"]
        // These are the C library's names of integer types.
        let names = [
            "CInt", "CLong", "CUnsignedInt", "mode_t", "nfds_t", "off_t", "pid_t", "rlim_t", "size_t", "socklen_t",
            "ssize_t", "suseconds_t", "time_t", "useconds_t",
        ]
        let fractions = ["Double", "Float", "TimeInterval", "rounded", "Duration"]
        // The quotient of two durations also has a fraction.
        let units = [".seconds(", ".milliseconds(", ".microseconds(", ".nanoseconds("]
        var found = 0
        try forEachSource { path, source in
            guard !path.hasPrefix("Sources/API/NightshiftAPI/"),
                (types + names).contains(where: { !source.calls(of: $0).isEmpty }),
                fractions.contains(where: { !source.mentions(of: $0).isEmpty })
                    || units.contains(where: source.code.contains)
            else { return }
            found += 1
            #expect(source.imports.contains("NightshiftAPI"), "\(path)")
            // Code must not bypass the deprecated overloads with a qualified name.
            #expect(!source.code.contains("Swift.Int"), "\(path)")
        }
        #expect(found > 5)
    }

    /// The API's server contains each path once, and its client contains each path once, in one folder.
    @Test func `Only the API server and its client contain paths of the local API`() throws {
        let homes = ["Sources/Service/LocalAPI/", "Sources/Clients/NightshiftClient/API/"]
        try forEachSource { path, source in
            let isHome = homes.contains(where: path.hasPrefix)
            #expect(isHome || source.localPaths == [], "\(path)")
        }
        // These tests show the API as any program sees it, or replace the service and check the requests to it.
        let showing = ["LocalAPI", "CLI", "Daemon", "Nightshift", "EndToEnd", "NightshiftCurl", "Architecture", "Page"]
            .map { "Tests/\($0)Tests/" }
        for (path, text) in SourceTree.tests where !showing.contains(where: path.hasPrefix) {
            #expect(SwiftSource(text).localPaths == [], "\(path)")
        }
    }

    /// Queries read only columns: renaming a property must not change their result.
    @Test func `Queries do not read JSON by the names of properties`() throws {
        try forEachSource(below: "Sources/Core/Store") { path, source in
            // A migration must not change after its release.
            guard !path.hasPrefix("Sources/Core/Store/Migrations") else { return }
            for word in ["json_extract", "json_type", "json_set", "->>", "'$."] {
                #expect(!source.text.contains(word), "\(path) has \(word)")
            }
        }
    }

    @Test(arguments: [
        "Sources/Core/Scheduler", "Sources/Parts/Transfers/Exchange", "Sources/Parts/Transfers/Running/Decisions",
        "Sources/Parts/Apps/Machine", "Sources/Parts/Refresh/State", "Sources/Parts/Location/State",
        "Sources/Parts/Push/State",
        "Sources/Parts/Notifications/State", "Sources/Library/Nightshift/Connection/Machine",
        "Sources/Library/Nightshift/Session/Machine",
        "Sources/Simulation",
    ])
    func `Decisions read no clock, no random number and no global state`(folder: String) throws {
        try forEachSource(below: folder) { path, source in
            for word in [
                "ContinuousClock", "SuspendingClock", "FileManager", "ProcessInfo", "SystemRandomNumberGenerator",
            ] {
                #expect(source.mentions(of: word) == [], "\(path) mentions \(word)")
            }
            // A decision gets the readings of the clocks as an argument.
            #expect(!source.imports.contains("Clock"), "\(path)")
            #expect(source.calls(of: "getenv") == [], "\(path)")
            #expect(!source.code.contains("Date()") && !source.code.contains("Date.now"), "\(path)")
        }
    }

    /// On Linux, Foundation matches cookies by host only, and its parser traps on values that some servers send.
    @Test func `Only one file chooses cookies, and no file uses Foundation's cookie parser`() throws {
        let home = "Sources/Library/Nightshift/Configuration/BackgroundConfiguration+Cookies.swift"
        var found = 0
        try forEachSource { path, source in
            let chosen = source.code.matches(of: /cookies\(for:/).count
            if path == home { found += chosen } else { #expect(chosen == 0, "\(path)") }
            #expect(!source.code.contains("withResponseHeaderFields"), "\(path)")
            #expect(!source.code.contains("requestHeaderFields"), "\(path)")
        }
        #expect(found == 1)
    }

    /// Foundation's file methods that do not throw trap when the system reports an error, such as a full disk.
    @Test func `The code reads and writes files only with methods that can throw`() throws {
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

    /// Foundation's other methods stop after the first page of a file with a reported size of 0.
    @Test func `The code reads files of /proc and /sys only through KernelFile`() throws {
        let read = /(?:contentsOfFile:|contentsOf:|contents\(atPath:)[^\n]*"(?:\/proc|\/sys|\\\([a-z.]*\)\/cgroup)/
        try forEachSource { path, source in
            #expect(!source.text.contains(read), "\(path)")
        }
    }

    /// The names of different types in the two packages: the gateway has its own database, limits and commands.
    private static let inBothPackages: Set<String> = [
        "DescriptorLimit", "ManualCommand", "Migrations", "StoreError", "TokenBucket",
    ]

    @Test func `No two types share a name`() throws {
        let tree = SourceTree.current
        var homes: [String: [String]] = [:]
        for folder in ["Sources", "Gateway/Sources"] {
            for path in try tree.files(below: folder, extensions: ["swift"]) {
                // A link shows the files of another target.
                guard !path.hasPrefix("Gateway/Sources/PushProtocol/"), !path.hasPrefix("Gateway/Sources/Manual/"),
                    path != "Gateway/Sources/nightshift-gateway/Version.swift"
                else {
                    continue
                }
                let declaration =
                    /(?m)^(?:@\w+ )*(?:(?:public|package|internal|final|indirect) )*(?:struct|class|actor|enum|protocol|typealias) (\w+)/
                for type in SwiftSource(try tree.text(path)).code.matches(of: declaration) {
                    homes[String(type.output.1), default: []].append(path)
                }
            }
        }
        #expect(homes.count > 1_000)
        for (type, paths) in homes where paths.count > 1 && !Self.inBothPackages.contains(type) {
            Issue.record("\(type) is declared in \(paths.joined(separator: " and "))")
        }
    }
}
