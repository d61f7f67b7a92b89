import Foundation
import NightshiftAPI
import Testing

@testable import CLI

/// The subjects of `show` and `why`: numbers, ranges and names.
struct SubjectTests {
    private static func task(_ id: Int64, _ url: String, _ file: String? = nil) -> TaskStatus {
        var task = Samples.running(id)
        task.url = url
        task.destination = Destination(directory: "/home/ada/Downloads", filename: file)
        return task
    }

    @Test(arguments: [
        ("12", SubjectArgument.tasks(TaskRange(ids: 12...12))), ("#12", .tasks(TaskRange(ids: 12...12))),
        ("12-15", .tasks(TaskRange(ids: 12...15))), ("12a", .name("12a")), ("0", .name("0")), ("-", .name("-")),
        ("15-12", .name("15-12")), ("org.example.Photos", .name("org.example.Photos")),
    ])
    func `The parser reads a number as a transfer's number, and any other argument as a name`(
        _ text: String, _ subject: SubjectArgument
    ) throws {
        #expect(try SubjectArgument.parse(text) == subject)
    }

    @Test func `A search finds transfers with the exact name before others, the newest first`() {
        var matches = TaskMatches(name: "Big.iso", path: "/home/ada/Downloads/big.iso")
        for (id, url) in [(1, "http://a/big.iso"), (2, "http://a/big.iso.asc"), (3, "http://b/big.iso")] {
            matches.add(Self.task(Int64(id), url))
        }
        #expect(matches.ids.map(\.rawValue) == [1, 3])
        guard case .task(let id, let note) = matches.subject else {
            Issue.record("nothing is found")
            return
        }
        #expect(id == TaskID(3) && note == "2 transfers match 'Big.iso'. The newest is chosen. The others: 1")
    }

    @Test func `A search finds a transfer by a part of its name, its URL and its file`() {
        let task = Self.task(7, "http://a/x%20y", "film.mkv")
        func finds(_ name: String, _ path: String? = nil) -> Bool {
            var matches = TaskMatches(name: name, path: path)
            matches.add(task)
            return matches.subject != nil
        }
        #expect(finds("ilm") && finds("http://a/x y") && finds("f", "/home/ada/Downloads/film.mkv"))
        #expect(!finds("http://a/") && !finds("song"))
    }

    @Test func `A search for an app tries its id, then its name, then parts of them`() {
        var mail = AppSamples.active
        mail.id = AppID(rawValue: "org.example.Mail")
        mail.name = "Photos by mail"
        let apps = [mail, AppSamples.active]
        #expect(NamedSubject.app("photos", in: apps) == AppSamples.active.id)
        #expect(NamedSubject.app("by mail", in: apps) == mail.id)
        #expect(NamedSubject.app("ORG.EXAMPLE.MAIL", in: apps) == mail.id)
        #expect(NamedSubject.app("music", in: apps) == nil)
    }

    private func service(_ world: World) throws -> ScriptedService {
        try world.service { request in
            switch request.path.prefix(while: { $0 != "?" }) {
            case "/v1/status": try .json(Samples.status)
            case "/v1/apps": try .json(AppList(apps: []))
            case "/v1/tasks":
                try .json(TaskPage(tasks: [Self.task(12, "http://a/big.iso"), Self.task(14, "http://a/s")], next: nil))
            case "/v1/tasks/12": try .json(Self.task(12, "http://a/big.iso"))
            case "/v1/tasks/14": try .json(Self.task(14, "http://a/s"))
            case "/v1/push": try .json(PushCommandTests.device)
            case "/v1/location": try .json(LocationSamples.device)
            case let path: throw Problem.notFound("There is no \(path).")
            }
        }
    }

    @Test func `show prints several subjects one by one, and continues after a missing one`()
        async throws
    {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(await world.run("show", "12", "13", "s") == .failed)
        #expect(world.output.text.hasPrefix("Transfer 12: big.iso\n"))
        #expect(world.output.text.contains("\n\nTransfer 14: s\n"))
        #expect(world.errors.text == "nightshift: There is no /v1/tasks/13.\n")
    }

    @Test func `show prints the existing transfers of a range, and several as a JSON array with --json`() async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(await world.run("show", "12-20", "--json") == .whole)
        let tasks = try JSON.decode([TaskStatus].self, from: Data(world.output.text.utf8))
        #expect(tasks.map(\.id.rawValue) == [12, 14])
        #expect(await world.run("show", "13", "14", "--json") == .failed)
        #expect(world.errors.text.hasPrefix("{") && world.errors.text.contains("There is no"))
        let one = try World()
        let other = try self.service(one)
        defer { other.stop() }
        #expect(await one.run("show", "12", "--json") == .whole)
        #expect(try JSON.decode(TaskStatus.self, from: Data(one.output.text.utf8)).id == TaskID(12))
    }

    @Test func `why finds a push by its id and a region by its identifier`() async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        let id = PushCommandTests.push(60, .handled, "").id
        #expect(await world.run("why", id, "HOME") == .whole, "\(world.errors.text)")
        #expect(world.output.text.contains("A push for org.example.Mail\n"))
        #expect(world.output.text.contains("home of org.example.Arrivals\n"))
    }

    @Test func `wait and watch accept the names of transfers`() async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        let invocation = world.invocation([])
        let subjects = try ["s", "12", "big", "http://a/s"].map(SubjectArgument.parse)
        #expect(try await invocation.taskIDs(subjects, json: false) == [TaskID(12), TaskID(14)])
        #expect(await world.run("wait", "nonsense") == .failed)
        #expect(await world.run("watch", "nonsense") == .failed)
        #expect(world.errors.text.contains("There is no transfer 'nonsense'. 'nightshift list --all' lists all"))
    }

    @Test func `The error about an unknown name contains advice`() async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(await world.run("why", "nonsense") == .failed)
        #expect(world.errors.text.contains("'nonsense'") && world.errors.text.contains("nightshift list --all"))
    }
}
