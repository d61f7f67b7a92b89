import Foundation
import NightshiftAPI
import Testing

@testable import CLI

struct RefreshCommandTests {
    private func service(_ world: World) throws -> ScriptedService {
        try world.service { request in
            switch (request.method, request.path) {
            case ("GET", "/v1/refresh"), ("PATCH", "/v1/refresh"), ("POST", "/v1/forget-use"):
                return try .json(RefreshSamples.device)
            case ("GET", "/v1/apps/org.example.Photos"): return try .json(AppSamples.active)
            case ("GET", "/v1/apps/org.example.Photos/why"):
                return try .json(
                    AppExplanation(app: AppSamples.active, sentence: "It is at the front.", endedBy: nil, history: []))
            case ("POST", "/v1/refresh/org.example.Photos/scheduled-tasks"),
                ("DELETE", "/v1/refresh/org.example.Photos/scheduled-tasks/photos.none"):
                return .json(204, Data())
            case (_, let path) where path.hasPrefix("/v1/refresh/org.example.Photos"):
                return try .json(RefreshSamples.photos)
            case (_, let path) where path.hasPrefix("/v1/refresh/org.example.Feeds"):
                return try .json(RefreshSamples.feeds)
            default: throw Problem.notFound("There is nothing at \(request.path).")
            }
        }
    }

    @Test(
        arguments: [
            (["refresh"], "GET /v1/refresh", nil),
            (["refresh", "--on"], "PATCH /v1/refresh", #"{"isOn":true}"#),
            (["refresh", "--off"], "PATCH /v1/refresh", #"{"isOn":false}"#),
            (
                ["refresh", "--daily-bytes", "50M", "--daily-energy", "900"], "PATCH /v1/refresh",
                #"{"dailyBytes":52428800,"dailyEnergy":900}"#
            ),
            (["refresh", "--forget"], "POST /v1/forget-use", nil),
            (["refresh", "--forget", "org.example.Feeds"], "POST /v1/refresh/org.example.Feeds/forget", nil),
            (["app", "refresh", "org.example.Feeds"], "GET /v1/refresh/org.example.Feeds", nil),
            (["app", "refresh", "org.example.Feeds", "--now"], "POST /v1/refresh/org.example.Feeds/fetch", nil),
            (
                ["app", "refresh", "org.example.Feeds", "--off", "--interval", "15m", "--cap", "4"],
                "PATCH /v1/refresh/org.example.Feeds", #"{"dailyCap":4,"interval":"900","isOn":false}"#
            ),
            (
                ["app", "refresh", "org.example.Feeds.desktop", "--interval", "default", "--cap", "none"],
                "PATCH /v1/refresh/org.example.Feeds", #"{"dailyCap":-1,"interval":"default"}"#
            ),
            (["app", "expire", "org.example.Feeds"], "POST /v1/refresh/org.example.Feeds/expire", "{}"),
            (
                ["app", "expire", "org.example.Feeds", "feeds.clean"], "POST /v1/refresh/org.example.Feeds/expire",
                #"{"identifier":"feeds.clean"}"#
            ),
        ] as [([String], String, String?)])
    func `R1: Each command sends one request`(arguments: [String], line: String, body: String?) async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(await CommandLineProgram.run(world.invocation(arguments)) == .whole)
        #expect(service.requests.map { "\($0.method) \($0.path)" } == [line])
        #expect(String(decoding: try #require(service.requests.first).body, as: UTF8.self) == body ?? "")
        #expect(!world.output.text.isEmpty && world.errors.text.isEmpty)
    }

    @Test(
        arguments: [
            (["refresh", "org.example.Feeds"], "needs --forget"), (["refresh", "--on", "--off"], "--off"),
            (["refresh", "--forget", "--on"], "cannot be combined"), (["refresh", "--daily-bytes", "x"], "a size is"),
            (["refresh", "--daily-energy", "nan"], "joules"),
            (["app", "refresh", "a", "--now", "--on"], "cannot be combined"),
            (["app", "refresh", "a", "--interval", "often"], "an interval is"),
            (["app", "refresh", "a", "--interval", "2000000000"], "an interval is"),
            (["app", "refresh", "a", "--cap=-1"], "a cap is"), (["app", "expire"], "id"),
            (["app", "expire", "a", ""], "identifier"), (["app", "schedule", "a"], "identifier"),
            (["app", "schedule", "a", "b", "--network"], "need --processing"),
            (["app", "schedule", "a", "b", "--cancel", "--after", "+1h"], "cannot be combined"),
            (["app", "schedule", "a", "b", "--after", "2026-02-30"], "does not exist"),
        ] as [([String], String)])
    func `R1: Invalid arguments are refused before any request`(
        arguments: [String], words: String
    ) async throws {
        let world = try World()
        #expect(await CommandLineProgram.run(world.invocation(arguments)) == .usage)
        #expect(world.errors.text.contains(words), "\(world.errors.text)")
    }

    @Test(arguments: [
        ("never", "never"), ("minimum", "minimum"), ("default", "default"), ("900", "900"), ("1h30m", "5400"),
        ("0", "0"), ("2d", "172800"),
    ])
    func `R1: You type fetch intervals like other durations`(text: String, interval: String) throws {
        #expect(try AppRefreshCommand.interval(text) == interval)
    }

    @Test(
        arguments: [
            (["photos.faces"], #"{"identifier":"photos.faces","kind":"refresh"}"#),
            (
                ["photos.faces", "--processing", "--external-power", "--network"],
                #"{"identifier":"photos.faces","kind":"processing","requiresNetwork":true,"requiresPower":true}"#
            ),
            (
                ["photos.faces", "--refresh", "--after", "+1h"],
                #"{"earliestBegin":"2026-11-21T13:00:00.000Z","identifier":"photos.faces","kind":"refresh"}"#
            ),
        ] as [([String], String)])
    func `R10: Scheduling a task prints why it waits`(arguments: [String], body: String) async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(
            await CommandLineProgram.run(world.invocation(["app", "schedule", "org.example.Photos"] + arguments))
                == .whole)
        #expect(service.requests.map(\.method) == ["POST", "GET"])
        #expect(String(decoding: service.requests[0].body, as: UTF8.self) == body)
        #expect(
            world.output.text == "org.example.Photos: photos.faces: processing, waiting since 2026-11-21 11:50:00 "
                + "(10 min ago), until 2026-11-21 13:00:00 (in 1 h). The device is on battery.\n")
    }

    @Test func `R10: app schedule --cancel cancels a waiting task`() async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(await world.run("app", "schedule", "org.example.Photos", "photos.none", "--cancel") == .whole)
        #expect(service.requests.first?.method == "DELETE")
        #expect(world.output.text == "org.example.Photos: no waiting task has the identifier photos.none\n")
    }

    @Test func `R1: With --json each command prints the JSON body of the API's response`() async throws {
        func output(_ arguments: String...) async throws -> Data {
            let world = try World()
            let service = try service(world)
            defer { service.stop() }
            #expect(await CommandLineProgram.run(world.invocation(arguments + ["--json"])) == .whole)
            return Data(world.output.text.utf8)
        }
        #expect(try JSON.decode(RefreshStatus.self, from: await output("refresh")) == RefreshSamples.device)
        let one = try await output("app", "refresh", "org.example.Feeds")
        #expect(try JSON.decode(AppRefreshStatus.self, from: one) == RefreshSamples.feeds)
        let expired = try await output("app", "expire", "org.example.Feeds")
        #expect(try JSON.decode(AppRefreshStatus.self, from: expired) == RefreshSamples.feeds)
        let scheduled = try await output("app", "schedule", "org.example.Photos", "photos.faces")
        #expect(try JSON.decode(AppRefreshStatus.self, from: scheduled) == RefreshSamples.photos)
    }

    @Test func `R1: app show and app why print information about background refresh`() async throws {
        struct Document: Decodable {
            var refresh: AppRefreshStatus
        }
        for command in ["show", "why"] {
            let world = try World()
            let service = try service(world)
            #expect(await world.run("app", command, "org.example.Photos") == .whole)
            #expect(world.output.text.contains("Background refresh:\n"))
            #expect(world.output.text.contains("photos.export: continued"))
            service.stop()
            let other = try World()
            let another = try self.service(other)
            #expect(await other.run("app", command, "org.example.Photos", "--json") == .whole)
            another.stop()
            let data = Data(other.output.text.utf8)
            #expect(try JSON.decode(Document.self, from: data).refresh == RefreshSamples.photos)
            if command == "show" {
                #expect(try JSON.decode(AppStatus.self, from: data) == AppSamples.active)
            } else {
                #expect(try JSON.decode(AppExplanation.self, from: data).sentence == "It is at the front.")
            }
        }
    }

    @Test func `R1: app refresh prints why the service refused`() async throws {
        let world = try World()
        let service = try world.service { _ in throw Problem.conflict("The user has force-quit org.example.Feeds.") }
        defer { service.stop() }
        #expect(await world.run("app", "refresh", "org.example.Feeds", "--now") == .failed)
        #expect(world.errors.text.contains("force-quit org.example.Feeds"))
    }
}
