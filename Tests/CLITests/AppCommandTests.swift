import Foundation
import NightshiftAPI
import Synchronization
import TestSupport
import Testing

@testable import CLI

struct AppCommandTests {
    private func service(_ world: World, _ app: AppStatus = AppSamples.active) throws -> ScriptedService {
        try world.service { request in
            switch (request.method, request.path) {
            case ("GET", "/v1/apps"): try .json(AppList(apps: AppSamples.all))
            case ("POST", _), ("GET", "/v1/apps/org.example.Photos"): try .json(app)
            case ("GET", "/v1/apps/org.example.Photos/why"):
                try .json(AppExplanation(app: app, sentence: "It is at the front.", endedBy: nil, history: []))
            case ("DELETE", "/v1/apps/org.example.Photos"): .json(204, Data())
            case ("GET", "/v1/apps/org.example.Photos/snapshot"): .json(200, Data("\u{89}PNG".utf8))
            default: throw Problem.notFound("There is nothing at \(request.path).")
            }
        }
    }

    @Test(
        arguments: [
            (["activate", "org.example.Photos"], "activate", nil),
            (["background", "org.example.Photos"], "background", nil),
            (["kill", "org.example.Photos.desktop"], "kill", nil),
            (["quit", "org.example.Photos"], "quit", "{}"),
            (["quit", "--force", "org.example.Photos"], "quit", #"{"force":true}"#),
            (["launch", "org.example.Photos"], "launch", "{}"),
            (["launch", "org.example.Photos", "--background"], "launch", #"{"background":true}"#),
            (
                ["launch", "org.example.Photos", "--", "--json", "a b"], "launch",
                #"{"arguments":["--json","a b"]}"#
            ),
        ] as [([String], String, String?)])
    func `L1: Each command sends one request and prints one line`(
        arguments: [String], action: String, body: String?
    ) async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(await CommandLineProgram.run(world.invocation(["app"] + arguments)) == .whole)
        let request = try #require(service.requests.first)
        #expect(service.requests.count == 1 && request.method == "POST")
        #expect(request.path == "/v1/apps/org.example.Photos/\(action)")
        #expect(String(decoding: request.body, as: UTF8.self) == body ?? "")
        #expect(world.output.text == "org.example.Photos: active, process 4711\n")
        #expect(world.errors.text.isEmpty)
    }

    @Test func `R9: The path for install is relative to the current directory`() async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        try FileManager.default.createDirectory(
            at: world.root.appending(path: "build"), withIntermediateDirectories: true)
        #expect(await world.run("app", "install", "./build/../a.desktop") == .whole)
        let request = try #require(service.requests.first)
        #expect(request.path == "/v1/apps" && request.method == "POST")
        #expect(try JSON.decode(InstallRequest.self, from: request.body).entry == world.path + "/a.desktop")
        #expect(world.output.text.hasPrefix("org.example.Photos: installed as Photos\n"))
    }

    @Test func `R9: A refused desktop entry gives exit code 2 and an error with line and key`() async throws {
        let world = try World()
        let detail = "a.desktop, line 7: X-Nightshift-BackgroundModes: 'fetsh' is not a background mode."
        let service = try world.service { _ in throw Problem.invalid(detail) }
        defer { service.stop() }
        #expect(await world.run("app", "install", "a.desktop") == .usage)
        #expect(world.errors.text == "nightshift: \(detail)\n")
    }

    @Test(arguments: [
        ("org.example.Photos", "org.example.Photos"), ("a b", "a%20b"), ("/usr/bin/x", "%2Fusr%2Fbin%2Fx"),
        ("ä?#", "%C3%A4%3F%23"), (".desktop", ".desktop"),
    ])
    func `L1: An app's id becomes one segment of the request path`(typed: String, segment: String) async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        _ = await world.run("app", "show", typed)
        #expect(service.requests.first?.path == "/v1/apps/\(segment)")
    }

    @Test func `B1: app list prints readable apps, and reports another app's unreadable value`() async throws {
        let world = try World()
        let whole = String(decoding: try JSON.encode(AppList(apps: AppSamples.all)), as: UTF8.self)
        let answer = whole.replacing(#""faults":0"#, with: #""faults":"none","x":0"#, maxReplacements: 1)
        try #require(answer != whole)
        let service = try world.service { _ in .json(200, Data(answer.utf8)) }
        defer { service.stop() }
        #expect(await world.run("app", "list") == .whole)
        #expect(world.errors.text.contains("nightshift: apps/\(AppSamples.all[0].id) cannot be read and was left out"))
        let rows = world.output.text.split(separator: "\n")
        #expect(rows.count == AppSamples.all.count, "the header and all apps but one")
        #expect(rows.contains { $0.contains("org.example.Faulty") })
    }

    @Test func `L1: The program path of an entry is relative to the current directory`() async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        _ = await world.run("app", "show", "./sync")
        let path = (world.path + "/sync").replacing("/", with: "%2F")
        #expect(service.requests.first?.path == "/v1/apps/\(path)")
    }

    @Test func `L1: The why command explains transfers by number and apps by id`() async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(await world.run("why", "org.example.Photos") == .whole)
        #expect(await world.run("app", "why", "org.example.Photos") == .whole)
        #expect(await world.run("why", "7") == .failed)
        #expect(await world.run("app", "why", "7") == .failed)
        #expect(
            service.requests.map(\.path) == [
                "/v1/apps/org.example.Photos/why", "/v1/refresh/org.example.Photos", "/v1/push/org.example.Photos",
                "/v1/location/org.example.Photos",
                "/v1/apps/org.example.Photos/why", "/v1/refresh/org.example.Photos", "/v1/push/org.example.Photos",
                "/v1/location/org.example.Photos",
                "/v1/tasks/7/why", "/v1/apps/7/why",
            ])
        let one = "org.example.Photos: Photos\n  active: It is at the front.\n"
        #expect(world.output.text.hasPrefix(one))
        #expect(world.output.text.components(separatedBy: one).count == 3)
    }

    @Test func `L1: With --json each command prints the JSON body of the API's response`() async throws {
        func output(_ arguments: String...) async throws -> Data {
            let world = try World()
            let service = try service(world)
            defer { service.stop() }
            #expect(await CommandLineProgram.run(world.invocation(["app"] + arguments + ["--json"])) == .whole)
            return Data(world.output.text.utf8)
        }
        let id = "org.example.Photos"
        #expect(try JSON.decode(AppList.self, from: await output("list")).apps == AppSamples.all)
        #expect(try JSON.decode(AppStatus.self, from: await output("show", id)) == AppSamples.active)
        #expect(try JSON.decode(AppStatus.self, from: await output("launch", id)) == AppSamples.active)
        #expect(try JSON.decode(AppStatus.self, from: await output("install", "x")) == AppSamples.active)
        #expect(try JSON.decode(AppExplanation.self, from: await output("why", id)).sentence == "It is at the front.")
        #expect(try await output("remove", id) == Data(#"{"removed":["org.example.Photos"]}"#.utf8 + [0x0A]))
    }

    @Test func `L1: Without installed apps, app list prints the command that installs one`() async throws {
        let world = try World()
        let service = try world.service { _ in try .json(AppList(apps: [])) }
        defer { service.stop() }
        #expect(await world.run("app", "list") == .whole)
        #expect(world.output.text.isEmpty && world.errors.text.contains("nightshift app install FILE"))
    }

    @Test func `L7: The command app snapshot replaces an existing file only with --force`() async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        let file = world.root.appending(path: "p.png")
        #expect(await world.run("app", "snapshot", "org.example.Photos", "-o", "p.png") == .whole)
        #expect(world.output.text == file.path(percentEncoded: false) + "\n")
        let picture = Data("\u{89}PNG".utf8)
        #expect(try Data(contentsOf: file) == picture)

        try Data("mine".utf8).write(to: file)
        #expect(await world.run("app", "snapshot", "org.example.Photos", "-o", "p.png") == .failed)
        #expect(try Data(contentsOf: file) == Data("mine".utf8))
        #expect(world.errors.text.contains("--force"))
        // The command checks the file first, and therefore sends no second request.
        #expect(service.requests.count == 1)
        #expect(await world.run("app", "snapshot", "org.example.Photos", "-o", "p.png", "--force") == .whole)
        #expect(try Data(contentsOf: file) == picture)
        #expect(await world.run("app", "snapshot", "org.example.Photos", "-o", ".") == .failed)
        #expect(await world.run("app", "snapshot", "org.example.Photos", "-o", "no/where.png") == .failed)
        #expect(await world.run("app", "snapshot", "org.example.None", "-o", "none.png") == .failed)
        #expect(!FileManager.default.fileExists(atPath: world.path + "/none.png"))
    }
}
