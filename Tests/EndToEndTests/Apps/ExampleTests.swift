import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of the examples, run as their README says, with real kills and suspensions.
@Suite(.serialized, .timeLimit(.minutes(20))) struct ExampleTests {
    /// Returns a service whose apps find the programs just built, with its home directory below `scratch`.
    private func service() throws -> Service {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return try Service(environment: ["PATH": "\(Programs.folder):\(path)"])
    }

    /// Installs an example's own desktop entry, with another program in it.
    private func install(_ id: String, from folder: String, running command: String, _ service: Service) async throws {
        let entry = try String(contentsOfFile: "\(Self.examples)/\(folder)/\(id).desktop", encoding: .utf8)
        let lines = entry.split(separator: "\n").map { line -> String in
            if line.hasPrefix("Exec=") { return "Exec=\(command)" }
            // The program's path replaces its name; the arguments stay.
            guard line.hasPrefix("X-Nightshift-Wake=") else { return String(line) }
            return "X-Nightshift-Wake=\(command) " + line.split(separator: " ").dropFirst().joined(separator: " ")
        }
        let path = try service.scratch.write(lines.joined(separator: "\n") + "\n", to: "\(id).desktop")
        let outcome = try await service.cli(["app", "install", path])
        try #require(outcome.code == 0, "\(outcome)")
    }

    private static let examples =
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Examples").standardized.path

    private func status(_ id: String, _ service: Service) async throws -> AppStatus {
        try await service.api.get("/v1/apps/\(id)")
    }

    private func wait(
        for what: String, _ id: String, _ service: Service, until isSatisfied: (AppStatus) -> Bool
    ) async throws {
        do {
            try await eventually(what, within: .seconds(30)) { isSatisfied(try await status(id, service)) }
        } catch let error as WaitedTooLong {
            let (why, tasks) = (try await service.cli(["app", "why", id]), try await service.cli(["list", "--all"]))
            Issue.record("\(id) did not come to \(what): \(why.output)\n\(tasks.output)\n\(service.log.suffix(4_000))")
            throw error
        }
    }

    @Test func `T9: SimpleBackgroundTransfer is suspended, killed and relaunched for its file`() async throws {
        let (service, origin, gate) = (try service(), try OriginServer(), Gate())
        defer { ProcessSweep(home: service.home).sweep(first: service.process) }
        let content = Content.seeded(size: 3 << 20, seed: 71)
        origin.serve("/film.mkv", Resource(content: content, behaviours: [.holdFrom(1 << 20, gate)]))
        try await service.start()
        let id = "org.example.SimpleBackgroundTransfer"
        try await install(
            id, from: "SimpleBackgroundTransfer", running: "\(Programs.folder)/SimpleBackgroundTransfer", service)
        try await service.cli(["app", "launch", id, "--", origin.url("/film.mkv")]).expectSuccess()
        try await service.wait(TaskID(1), for: "1 MiB") { $0.countOfBytesReceived >= 1 << 20 }
        try await service.cli(["app", "background", id]).expectSuccess()
        try await wait(for: "suspension", id, service) { $0.state == .suspended }
        let process = try #require(try await status(id, service).processID)
        kill(process, SIGKILL)
        try await wait(for: "its end", id, service) { $0.lastExit?.signal == SIGKILL }
        gate.open()
        try await wait(for: "sleep after the relaunch", id, service) {
            $0.state == .suspended && $0.processID != process
        }
        let file = service.scratch.path(".local/share/SimpleBackgroundTransfer/film.mkv")
        #expect(try content.firstMismatch(inFileAt: file) == nil)
        let log = try await service.cli(["app", "log", id]).output.split(separator: "\n").map(String.init)
        #expect(log.first == "launched")
        let relaunched = try #require(log.firstIndex(of: "launched in the background"))
        let story = log[relaunched...].filter { !$0.hasSuffix("%") && !$0.hasPrefix("events for") }
        #expect(
            story == [
                "launched in the background", "moved film.mkv to \(file)", "task 1 completed", "all events handled",
            ])
        let picture = service.scratch.path("snapshot.png")
        try await service.cli(["app", "snapshot", id, "-o", picture]).expectSuccess()
        #expect(try fileBytes(picture).starts(with: [0x89, 0x50, 0x4e, 0x47]))
    }

    @Test func `T9: DownloadQueue is killed and restarted without mixing up files`() async throws {
        let (service, origin, gate) = (try service(), try OriginServer(), Gate())
        defer { ProcessSweep(home: service.home).sweep(first: service.process) }
        let folder = service.scratch.path("Downloads")
        let sizes = (0..<12).map { Int64(100_000 + 40_000 * $0) }
        for (number, size) in sizes.enumerated() {
            // Most of the downloads stop halfway until after the kill.
            let behaviours: [Behaviour] = number < 4 ? [] : [.holdFrom(50_000, gate)]
            origin.serve(
                "/\(number).bin",
                Resource(content: .seeded(size: size, seed: UInt64(number)), behaviours: behaviours))
        }
        let urls = sizes.indices.map { origin.url("/\($0).bin") }
        try await service.start()
        let id = "org.example.DownloadQueue"
        try await install(
            id, from: "DownloadQueue", running: "\(Programs.folder)/DownloadQueue \(folder)", service)
        try await service.cli(["app", "launch", id, "--"] + urls).expectSuccess()
        try await eventually("four files, and everything begun") {
            let log = try await service.cli(["app", "log", id]).output
            return log.contains("under way") && service.names(in: folder).count == 4
        }
        let process = try #require(try await status(id, service).processID)
        kill(process, SIGKILL)
        try await wait(for: "its end", id, service) { $0.lastExit?.signal == SIGKILL }
        // The same command again does not start running downloads twice.
        try await service.cli(["app", "launch", id, "--"] + Array(urls[4...])).expectSuccess()
        try await eventually("the queue's word once more") {
            try await service.cli(["app", "log", id]).output.components(separatedBy: "under way").count == 3
        }
        #expect(try await service.api.tasks().count == sizes.count)
        gate.open()
        try await eventually("all files", within: .seconds(30)) { service.names(in: folder).count == sizes.count }
        for (number, size) in sizes.enumerated() {
            let content = Content.seeded(size: size, seed: UInt64(number))
            #expect(try content.firstMismatch(inFileAt: "\(folder)/\(number).bin") == nil)
        }
        let log = try await service.cli(["app", "log", id]).output
        for number in sizes.indices {
            #expect(log.components(separatedBy: "\n\(number).bin is here").count == 2, "\(log)")
        }
        #expect(!log.contains("could not be downloaded"))
    }

    @Test func `T9: The service wakes the wallpaper example in shell, which uses its picture`() async throws {
        let (service, origin) = (try service(), try OriginServer())
        defer { ProcessSweep(home: service.home).sweep(first: service.process) }
        let content = Content.seeded(size: 200_000, seed: 72)
        origin.serve("/hills.jpg", Resource(content: content))
        try await service.start()
        let id = "org.example.Wallpaper"
        let script = "\(Self.examples)/wallpaper/wallpaper.sh"
        try await install(id, from: "wallpaper", running: script, service)
        try await run(script, [origin.url("/hills.jpg")], service).expectSuccess()
        let folder = service.scratch.path(".local/share/wallpaper")
        try await wait(for: "the wake", id, service) { $0.lastExit?.cause == .exited && $0.wakes.isEmpty }
        #expect(try content.firstMismatch(inFileAt: "\(folder)/current") == nil)
        let history = String(decoding: try fileBytes("\(folder)/history"), as: UTF8.self)
        #expect(history.split(separator: "\n").count == 1 && history.hasSuffix("sessionEvents: hills.jpg\n"))
        #expect(service.names(in: "\(folder)/incoming") == [])
    }

    @Test(.enabled(if: Programs.has("python3")))
    func `T9: The service wakes the podcasts example in Python, which files its episodes`() async throws {
        let (service, origin) = (try service(), try OriginServer())
        defer { ProcessSweep(home: service.home).sweep(first: service.process) }
        let names = ["first.mp3", "second.mp3", "third.mp3"]
        for (number, name) in names.enumerated() {
            origin.serve("/\(name)", .seeded(size: 100_000, seed: UInt64(number)))
        }
        try await service.start()
        let id = "org.example.Podcasts"
        let script = "\(Self.examples)/podcasts/podcasts.py"
        try await install(id, from: "podcasts", running: script, service)
        try await run(script, names.map { origin.url("/\($0)") }, service).expectSuccess()
        let folder = service.scratch.path("Podcasts")
        try await wait(for: "the wake", id, service) { $0.lastExit?.cause == .exited && $0.wakes.isEmpty }
        for (number, name) in names.enumerated() {
            let content = Content.seeded(size: 100_000, seed: UInt64(number))
            #expect(try content.firstMismatch(inFileAt: "\(folder)/\(name)") == nil)
        }
        let log = try await service.cli(["app", "log", id]).output
        #expect(log.split(separator: "\n").sorted() == names.map { "new: \($0)" }.sorted())
        try await eventually("nothing that is kept although it was taken") {
            service.names(in: service.paths.files.path).isEmpty
        }
    }

    @Test(.enabled(if: Programs.has("python3")))
    func `R1: The feeds example in Python fetches and reports the result`() async throws {
        let (service, origin) = (try service(), try OriginServer())
        defer { ProcessSweep(home: service.home).sweep(first: service.process) }
        origin.serve(
            "/feed.xml",
            .text(
                "<rss version=\"2.0\"><channel><title>Hills</title><item><guid>1</guid><title>The first</title>"
                    + "<link>http://example.org/1</link></item></channel></rss>"))
        try await service.start()
        // No fetch starts on its own meanwhile.
        try await service.cli(["refresh", "--off"]).expectSuccess()
        let id = "org.example.Feeds"
        let script = "\(Self.examples)/feeds/feeds.py"
        try await install(id, from: "feeds", running: script, service)
        try await run(script, ["add", origin.url("/feed.xml")], service).expectSuccess()
        for (number, result) in [RefreshResult.newData, .noData].enumerated() {
            try await service.cli(["app", "refresh", id, "--now"]).expectSuccess()
            try await eventually("the end of fetch \(number)", within: .seconds(40)) {
                let fetches = try await refresh(id, service).fetches
                return fetches.count == number + 1 && fetches[number].result == result
            }
        }
        let log = try await service.cli(["app", "log", id]).output
        #expect(log == "1 feeds asked, 1 new articles, 0 failed\n1 feeds asked, 0 new articles, 0 failed\n")

        // The app that the user has opened reports that to the service itself.
        let first = try await run(script, [], service)
        #expect(first.output == "Hills\n  The first\n    http://example.org/1\n", "\(first)")
        #expect(try await run(script, [], service).output == "There are no unread articles.\n")
        try await eventually("what the service has learned") { try await refresh(id, service).lastUse != nil }
        try await service.cli(["refresh", "--forget", id]).expectSuccess()
        #expect(try await refresh(id, service).lastUse == nil)
    }

    @Test(.enabled(if: Programs.has("jq")))
    func `R6: The service wakes the arrivals example in shell at home, but only with permission`() async throws {
        let service = try service()
        defer { ProcessSweep(home: service.home).sweep(first: service.process) }
        try await service.start()
        let id = "org.example.Arrivals"
        let script = "\(Self.examples)/arrivals/arrivals.sh"
        try await install(id, from: "arrivals", running: script, service)
        try await service.cli(["device", "set", "location=52.5200,13.4050"]).expectSuccess()
        try await service.cli(["region", "add", "home", "52.5163,13.3777", "150", "--app", id, "--entry-only"])
            .expectSuccess()
        #expect(try await location(id, service).regions.map(\.state) == [.unknown])
        try await service.cli(["app", "location", id, "--always"]).expectSuccess()
        try await eventually("the side on which the device is", within: .seconds(60)) {
            try await location(id, service).regions.map(\.state) == [.outside]
        }
        try await service.cli(["device", "set", "location=52.5163,13.3777"]).expectSuccess()
        // A region event has to last twenty seconds.
        let history = service.scratch.path(".local/share/arrivals/history")
        try await eventually("the arrival in the script's history", within: .seconds(120)) {
            (try? String(contentsOfFile: history, encoding: .utf8))?.hasSuffix(" entered home\n") == true
        }
        try await wait(for: "the end of the wake", id, service) { $0.wakes.isEmpty }
        let status = try await location(id, service)
        #expect(status.wakes == 1 && status.regions.first?.crossings == 1 && status.regions.first?.state == .inside)
        #expect(try await run(script, [], service).output.hasSuffix(" entered home\n"))
    }

    private func location(_ id: String, _ service: Service) async throws -> AppLocationStatus {
        try await service.api.get("/v1/location/\(id)")
    }

    private func refresh(_ id: String, _ service: Service) async throws -> AppRefreshStatus {
        try await service.api.get("/v1/refresh/\(id)")
    }

    /// Runs a script as the user does in a terminal.
    private func run(_ script: String, _ arguments: [String], _ service: Service) async throws -> ChildProcess.Outcome {
        try await ChildProcess.run(
            script, arguments,
            environment: [
                "NIGHTSHIFT_HOME": service.home, "HOME": service.scratch.path,
                "PATH": "\(Programs.folder):/usr/bin:/bin",
            ])
    }
}

extension ChildProcess.Outcome {
    fileprivate func expectSuccess(sourceLocation: SourceLocation = #_sourceLocation) throws {
        try #require(code == 0, "\(output)\(errors)", sourceLocation: sourceLocation)
    }
}
