import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of background fetches of programs in any language, with real processes and the real service.
@Suite(.serialized, .timeLimit(.minutes(20))) struct FetchScriptTests {
    @Test func `R1: A script fetches, and its exit status reports the result`() async throws {
        let feed = try FetchingScript()
        try await feed.install(
            """
            echo "$NIGHTSHIFT_WAKE $NIGHTSHIFT_LAUNCH $NIGHTSHIFT_WAKE_LIMIT" >>$FOLDER/wakes
            exit $(cat $FOLDER/answer)
            """)
        for (count, expected) in [(0, RefreshResult.newData), (10, .noData), (3, .failed)].enumerated() {
            _ = try feed.service.scratch.write("\(expected.0)", to: "answer")
            try await feed.fetchNow()
            let fetches = try await feed.ended(count + 1)
            #expect(fetches.map(\.result).last == expected.1, "\(expected)")
        }
        #expect(feed.text("wakes") == String(repeating: "fetch background 30\n", count: 3))
        let app = try await feed.status()
        #expect(app.state == .notRunning && app.faults == 0)
        // After a failure the planner pauses fetches for a while and says so.
        try await feed.switchRefresh(on: true)
        #expect(try await feed.refresh().hold == "failures")
    }

    @Test func `R1: Transfers that a fetch gives to a session belong to it and outlive the fetch`() async throws {
        let origin = try OriginServer()
        origin.serve("/news", .text("news"))
        let feed = try FetchingScript()
        try await feed.install(
            """
            '\(Programs.commandLine)' get --app \(FetchingScript.id) --session news -o $FOLDER/news \
                '\(origin.url("/news"))' --detach >$FOLDER/said 2>&1 || exit 1
            """, modes: "fetch;transfer;")
        try await feed.fetchNow()
        #expect(try await feed.ended(1).map(\.result) == [.newData], "\(feed.text("said") ?? "")")
        try await eventually("the file") { feed.text("news") == "news" }
    }

    @Test func `R1: The service ends a fetch after 30 s and counts it as failed`() async throws {
        let feed = try FetchingScript()
        try await feed.install("touch $FOLDER/begun; trap '' TERM; while :; do sleep 1; done")
        try await feed.fetchNow()
        try await eventually("its begin") { feed.text("begun") != nil }
        let fetches = try await feed.ended(1, within: .seconds(240))
        let app = try await feed.status()
        #expect(app.lastExit?.cause == .fetchOverdue && app.lastExit?.cause.code == 0x2182_bad4)
        #expect(fetches.count == 1 && fetches[0].result == .failed)
        let seconds = try #require(fetches[0].ended).timeIntervalSince(fetches[0].began)
        #expect(seconds >= 29.5)
    }

    @Test func `R1: A killed service neither loses a fetch nor counts it twice`() async throws {
        let feed = try FetchingScript()
        try await feed.install(
            """
            echo begun >>$FOLDER/begun
            while [ ! -e $FOLDER/gate ]; do sleep 0.05; done
            """)
        try await feed.fetchNow()
        try await eventually("its begin") { feed.text("begun") != nil }
        try await feed.service.kill()
        try await feed.service.start()
        #expect(try await feed.refresh().fetches.map(\.result) == [nil])
        _ = try feed.service.scratch.write("", to: "gate")
        let fetches = try await feed.ended(1)
        #expect(fetches.count == 1 && feed.text("begun") == "begun\n")
        // The process is not the service's child, so its exit status is unknown: the fetch is neither a success nor a
        // failure.
        #expect(fetches[0].result == nil && fetches[0].ended != nil && fetches[0].detail != nil)

        // A service killed after the fetch's end still has its result.
        try await feed.service.kill()
        try await feed.service.start()
        #expect(try await feed.refresh().fetches.map(\.began) == fetches.map(\.began))
    }

    @Test func `R9: The service refuses a fetch that the desktop entry does not declare, naming the key`() async throws
    {
        let feed = try FetchingScript()
        try await feed.install("exit 0", modes: "transfer;")
        let problem = await #expect(throws: Problem.self) { try await feed.fetchNow() }
        #expect(problem?.status == 409)
        #expect(problem?.detail?.contains("X-Nightshift-BackgroundModes") == true)
    }

    @Test func `R1: After a force quit no fetch starts until the user starts the app`() async throws {
        let feed = try FetchingScript()
        try await feed.install("exit 0")
        try await feed.api.post("/v1/apps/\(FetchingScript.id)/quit", QuitRequest(force: true), as: AppStatus.self)
        #expect(try await feed.refresh().hold == "forceQuit")
        await #expect(throws: Problem.self) { try await feed.fetchNow() }
        try await feed.api.post("/v1/apps/\(FetchingScript.id)/launch", LaunchRequest(), as: AppStatus.self)
        try await eventually("the user's setting to apply") { try await feed.refresh().hold != "forceQuit" }
    }

    @Test func `R2: The service does not fetch for an app that is switched off, and reports the reason`() async throws {
        let feed = try FetchingScript()
        try await feed.install("exit 0")
        let outcome = try await feed.service.cli(["app", "refresh", FetchingScript.id.rawValue, "--off"])
        #expect(outcome.code == 0, "\(outcome.errors)")
        let status = try await feed.refresh()
        #expect(status.hold == "appSwitchedOff" && status.availability == .denied)
        let shown = try await feed.service.cli(["refresh"])
        #expect(shown.output.contains("switched background refresh off"), "\(shown.output)")
    }
}
