import Testing

/// Tests of the checks themselves: each check must be able to fail.
@Suite struct CheckerTests {
    @Test func `The checker finds imports in every form, but not in comments and strings`() {
        let source = SwiftSource(
            """
            import Foundation
            package import NightshiftAPI
            @preconcurrency public import struct GRDB.Row
              @_spi(Some) import NIOCore
            // import Commented
            /* import Blocked /* import Nested */ import Blocked */
            let text = "\\" import Quoted"
            let raw = #"import Raw " import Raw"#
            let long = \"""
                import Long
                \"""
            let important = 1
            """)
        #expect(source.imports == ["Foundation", "NightshiftAPI", "GRDB", "NIOCore"])
        #expect(!source.importsTestably)
        #expect(SwiftSource("@testable import Store").importsTestably)
        #expect(SwiftSource("@testable import Store").imports == ["Store"])
    }

    @Test func `Blanking source text changes neither its lines nor their lengths`() {
        let text = "a // b – ü\nc \"d\ne\" /* f\n */ g"
        let code = SwiftSource(text).code
        #expect(code.utf8.count == text.utf8.count)
        #expect(code.count { $0 == "\n" } == 3)
    }

    @Test func `The checker distinguishes calls from members, declarations and longer names`() {
        let source = SwiftSource(
            "print(1)\nlogger.print(2)\nfunc print(x: Int) {}\nblueprint(3)\n  Swift.print(4); print(5)\n// print(6)")
        #expect(source.calls(of: "print") == [1, 5])
    }

    @Test func `The checker finds only transitions that are silently ignored`() {
        let source = SwiftSource(
            """
            _ = try? task.record.apply(.begin, now: now)
            let entries = (try? record.apply(.hold(hold), now: now)) ?? []
            let outcome = try? await transition(id) { nil }
            entries = try record.apply(.begin, now: now)
            // try? record.apply(.begin)
            let value = try? decoder.decode(apply(x))
            try! items[0].apply(.begin)
            """)
        #expect(source.silencedTransitions == [1, 2, 3, 7])
    }

    @Test func `The checker finds markers of unfinished work only as whole words`() {
        #expect(
            SwiftSource("// TODO: later\nlet template = \"XXXXXX\"\n// FIXME\nlet todo = 1\n/* XXX */").unfinished == [
                1, 3, 5,
            ])
    }

    @Test func `The checker requires a comment for each disabled compiler check`() {
        let bare = "struct A: @unchecked Sendable {}"
        #expect(SwiftSource(bare).unexplainedExceptions == [1])
        #expect(SwiftSource("// Only one thread has it.\n" + bare).unexplainedExceptions == [])
        #expect(SwiftSource("// Far away.\n\n\n\n\n" + bare).unexplainedExceptions == [6])
        #expect(SwiftSource("let a = try! b()").unexplainedExceptions == [1])
    }

    @Test func `The checker distinguishes sleeps from custom clocks, and time bounds from comparisons`() {
        let source = SwiftSource(
            """
            usleep(50)
            try await Task.sleep(for: .seconds(1))
            try await clock.sleep(until: end)
            Thread.sleep(forTimeInterval: 1)
            try await clock.sleep(untilBootSeconds: 1)
            // usleep(50)
            #expect(time < .seconds(5))
            #expect(time <= .milliseconds(5))
            #expect(time > .seconds(5))
            """)
        #expect(source.sleeps == [1, 2, 3, 4])
        #expect(source.durationBounds == [7, 8])
        #expect(SwiftSource("@Suite(.timeLimit(.minutes(3))) struct A {}").testTimeLimits == [3])
    }

    @Test func `The checker distinguishes API paths in code from paths in text`() {
        let source = SwiftSource(
            """
            /// `GET /v1/tasks`, or `/v1/status`: see /v1/openapi.json.
            send("/v1/tasks/\\(id)")
            send("\\(base)/v1/tasks")
            throw Problem("It has to read /v1/process/commands first.")
            """)
        #expect(source.localPaths == [2, 3])
    }

    static let table = ImportTable(
        markdown: """
            | Layer | Target | Its one job | Targets | Modules |
            |---|---|---|---|---|
            | L0 | `Words` | words | – | – |
            | L1 | `Shelf` | shelf | `Words` | `GRDB`, `Glibc` |
            | L1 | `Clock` | clock | `Words`, `Shelf` | – |
            | L2 | `Shop` | shop | `Shelf`, `Ghost` | – |

            | L3 | `Elsewhere` | another table | – | – |
            """)

    @Test func `The checker distinguishes the calls of a route from names that the route only mentions`() {
        let routes = RouteCalls.all(
            in: SwiftSource(
                """
                Route(.get, "/v1/apps") { _ in
                    // apps.commented()
                    try await Reply.page(AppList(apps: await apps.apps())).response
                },
                Route(.post, "/v1/tasks") { call in
                    if let app = request.app { try await apps.mayBeGivenTasks(app) }
                    return try await service.enqueue(request)
                },
                Route(.put, "/v1/device") { call in await operations.apps.look(call.service.name, "apps.x") },
                private func session(_ call: Call) async throws { try await operations.session(call.process()) }
                """))
        #expect(routes.map(\.line) == [1, 5, 9, 10])
        #expect(
            routes.map(\.calls) == [
                ["apps.apps"], ["apps.mayBeGivenTasks", "service.enqueue"], ["operations.apps"], ["operations.session"],
            ])
        #expect(routes.map(\.isMoreThanTranslation) == [false, true, true, false])
    }

    @Test func `The checker reads the import table row by row`() {
        #expect(Self.table.rows.map(\.target) == ["Words", "Shelf", "Clock", "Shop"])
        #expect(
            Self.table.row(of: "Shelf")
                == ImportTable.Row(layer: 1, target: "Shelf", targets: ["Words"], modules: ["GRDB", "Glibc"]))
    }

    @Test func `The checker forbids imports that the table does not allow`() {
        #expect(Self.table.forbidden(["Words", "GRDB", "Foundation"], in: "Shelf") == [])
        #expect(Self.table.forbidden(["Shop", "NIOCore"], in: "Shelf") == ["Shop", "NIOCore"])
        #expect(Self.table.forbidden(["Words"], in: "Unheard") == ["Words"])
    }

    @Test func `The checker finds table rows that allow imports of a layer that is not lower`() {
        #expect(
            Self.table.misdirected == ["Clock -> Shelf: not a lower layer", "Shop -> Ghost: no such target"])
        #expect(Self.table.linked(by: "Shop") == ["GRDB", "Glibc"])
    }

    @Test func `The checker reads the package manifest with its products`() {
        let manifest = Manifest(
            """
            let grdb = service("GRDB", "GRDB.swift")
            let package = Package(targets: [
                // .target(name: "Commented"),
                .target(name: "Words", linkerSettings: [.linkedLibrary("curl")]),
                .executableTarget(
                    name: "Shelf", dependencies: ["Words", grdb,], path: "Tests/Shelf", swiftSettings: strict),
            ])
            """)
        #expect(
            manifest.targets == [
                Manifest.Target(name: "Words", dependencies: []),
                Manifest.Target(name: "Shelf", dependencies: ["Words", "GRDB"], path: "Tests/Shelf"),
            ])
    }

    @Test func `The checker distinguishes decisions from code that only executes them`() {
        let carriedOut = SwiftSource(
            """
            case .finish(let entries): await finish(transfer, file, entries)
            case .failed(let job, let failure): job.entries += apply(event, to: &job.record, now: now)
            case .save(let record, let entries): changes.append((job, record, entries))
            TransferFailure(failure.code, failure.message)
            startTicker(at: now.bootSeconds)
            // if failure.isPermanent { give(up) }
            """)
        #expect(carriedOut.decisions == [])
        let decided = SwiftSource(
            """
            if failure.isPermanent { await fail(transfer, failure) }
            if failure.code == .diskFull || answer.isLate { wait() }
            switch transfer.failure?.code {
            switch record.state {
            guard record.failures + 1 < limit else { return }
            let delay = RetrySchedule.delay(attempt: 2, random: environment.random())
            let isDue = now.bootSeconds - start >= 2
            entries += apply(.hold(hold), to: &record, now: now)
            var event = TaskEvent.fail(failure, file: nil, resumeData: nil)
            let next: TaskEvent = .fetchAgain(failure)
            """)
        #expect(
            decided.decisions.map { "\($0.line) \($0.reason)" } == [
                "1 looks into a failure", "2 looks into a failure", "3 looks into a failure",
                "4 tells states of a task apart", "5 counts attempts", "6 chooses a pause", "7 compares times",
                "8 makes up the event 'hold'", "9 makes up the event 'fail'", "10 makes up the event 'fetchAgain'",
            ])
        // Before runs existed, code like this decided the end of a download.
        let before = SwiftSource(
            """
            transfer.repetitions += 1
            guard transfer.repetitions <= Self.repetitionLimit else {
                return await trouble(transfer, failure, entries)
            }
            guard !failure.isPermanent else { return await fail(transfer, told, entries) }
            let more = (try? transfer.record.apply(.hold(hold), now: now)) ?? []
            """)
        #expect(Set(before.decisions.map(\.line)) == [1, 2, 5, 6])
    }

    @Test func `The checker reads effects files and steps of the walk from their tables`() {
        let document = """
            | Effects | What they carry out |
            |---|---|
            | `Shop/Till.swift` | sales |

            | Step | File | Function | What happens | In, out |
            |---|---|---|---|---|
            | 1 | `Shop/Door.swift` | `open`, `init` | it opens | – |
            | 2 | `Shop/Till.swift` | – | money | – |
            """
        let effects = EffectsFiles(markdown: document)
        #expect(effects.paths == ["Sources/Shop/Till.swift"])
        #expect(effects.contains("Sources/Shop/Till.swift") && effects.contains("Sources/Shop/Shelf+Effects.swift"))
        #expect(!effects.contains("Sources/Shop/Shelf.swift"))
        #expect(
            Walk(markdown: document).steps == [
                Walk.Step(number: 1, path: "Sources/Shop/Door.swift", functions: ["open", "init"]),
                Walk.Step(number: 2, path: "Sources/Shop/Till.swift", functions: []),
            ])
        let door = SwiftSource("struct Door { init(_ wood: Wood) {}\n  func open() { shut() } }  // func lock()")
        #expect(door.missing(["open", "init", "shut", "lock"]) == ["shut", "lock"])
    }

    @Test func `The checker reads links and anchors only from prose`() {
        let page = Markdown(
            """
            # What is it?
            See [a](b.md), [web](https://example.org/x), `[no](code.md)` and [here](#what-is-it).
            ```
            # Not a heading
            [no](block.md)
            ```
            ## `get` and others
            """)
        #expect(page.localLinks == ["b.md", "#what-is-it"])
        #expect(page.anchors == ["what-is-it", "get-and-others"])
        #expect(Markdown("[x](no-such-file.md)").brokenLinks(at: "docs/a.md", in: .current) == ["no-such-file.md"])
        #expect(Markdown("[x](../Package.swift)").brokenLinks(at: "docs/a.md", in: .current) == [])
        #expect(Markdown("# A\n[x](#b)").brokenLinks(at: "README.md", in: .current) == ["#b"])
    }

    @Test func `The checker names commands by the parser's own rules`() {
        let source = SwiftSource(
            """
            struct Get: AsyncParsableCommand { static let configuration = CommandConfiguration(abstract: "x") }
            package struct ServiceRun: ClientCommand {
                static let configuration = CommandConfiguration(commandName: "run")
            }
            struct DoctorCheck: Sendable, ParsableCommand {}
            """)
        #expect(CommandNames(in: source).all == ["get", "run", "doctor-check"])
        let commands = ["get", "service", "run", "start", "stop"]
        func isDocumented(_ command: String, _ manual: String) -> Bool {
            CommandNames.isDocumented(command, among: commands, in: manual)
        }
        #expect(isDocumented("run", "## `nightshift service run|start`"))
        #expect(isDocumented("get", "| `get URL...` | downloads |"))
        #expect(isDocumented("stop", "$ nightshift service stop"))
        #expect(!isDocumented("stop", "`nightshift service run`: it will stop"))
        #expect(!isDocumented("stop", "`get URL stop`, to stop"))
    }
}
