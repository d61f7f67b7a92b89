import Foundation
import NightshiftAPI
import Testing

@testable import CLI

struct LocationCommandTests {
    private static let app = "org.example.Arrivals"

    private func service(_ world: World) throws -> ScriptedService {
        try world.service { request in
            switch (request.method, request.path) {
            case ("GET", "/v1/location"): return try .json(LocationSamples.device)
            case ("GET", "/v1/location/\(Self.app)"), ("PATCH", "/v1/location/\(Self.app)"), ("PUT", _):
                return try .json(LocationSamples.arrivals)
            case ("DELETE", _): return .json(204, Data())
            case ("GET", "/v1/location/org.example.Photos"): return try .json(LocationSamples.arrivals)
            case ("GET", "/v1/apps/org.example.Photos"): return try .json(AppSamples.active)
            case ("GET", "/v1/apps/org.example.Photos/why"):
                return try .json(
                    AppExplanation(app: AppSamples.active, sentence: "It is at the front.", endedBy: nil, history: []))
            default: throw Problem.notFound("There is nothing at \(request.path).")
            }
        }
    }

    private static func region(_ center: String, _ radius: String, entry: Bool = true, exit: Bool = true) -> String {
        "{\"center\":{\(center)},\"identifier\":\"home\",\"notifiesOnEntry\":\(entry),\"notifiesOnExit\":\(exit),"
            + "\"radius\":\(radius)}"
    }

    @Test(
        arguments: [
            (["location"], "GET /v1/location", ""),
            (["region"], "GET /v1/location", ""),
            (["region", "list"], "GET /v1/location", ""),
            (["region", "list", "--app", app], "GET /v1/location/\(app)", ""),
            (["app", "location", "\(app).desktop"], "GET /v1/location/\(app)", ""),
            (["app", "location", app, "--always"], "PATCH /v1/location/\(app)", #"{"permission":"always"}"#),
            (["app", "location", app, "--when-in-use"], "PATCH /v1/location/\(app)", #"{"permission":"whenInUse"}"#),
            (["app", "location", app, "--deny"], "PATCH /v1/location/\(app)", #"{"permission":"denied"}"#),
            (["app", "location", app, "--ask"], "PATCH /v1/location/\(app)", #"{"permission":"ask"}"#),
            (
                ["region", "add", "home", "52.5,13.25", "150", "--app", app], "PUT /v1/location/\(app)/regions/home",
                region(#""latitude":52.5,"longitude":13.25"#, "150")
            ),
            (
                ["region", "add", "home", "33.5S,70.25W", "1.5km", "--app", app, "--entry-only"],
                "PUT /v1/location/\(app)/regions/home",
                region(#""latitude":-33.5,"longitude":-70.25"#, "1500", exit: false)
            ),
            (
                ["region", "add", "--app", app, "--exit-only", "--", "home", "-33.5,-70.25", "20m"],
                "PUT /v1/location/\(app)/regions/home",
                region(#""latitude":-33.5,"longitude":-70.25"#, "20", entry: false)
            ),
        ] as [([String], String, String)])
    func `R6: Each command sends one request`(arguments: [String], line: String, body: String) async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(await CommandLineProgram.run(world.invocation(arguments)) == .whole)
        #expect(service.requests.map { "\($0.method) \($0.path)" } == [line])
        #expect(String(decoding: try #require(service.requests.first).body, as: UTF8.self) == body)
        #expect(!world.output.text.isEmpty && world.errors.text.isEmpty)
    }

    @Test(
        arguments: [
            (["region", "add", "home", "52.5,13.25", "150"], "--app"),
            (["region", "add", "home", "52.5", "150", "--app", "a"], "a location is"),
            (["region", "add", "home", "91,0", "150", "--app", "a"], "a location is"),
            (["region", "add", "home", "nan,0", "150", "--app", "a"], "a location is"),
            (["region", "add", "home", "5N,-3", "15", "--app", "a", "--entry-only", "--exit-only"], "exit-only"),
            (["region", "add", "home", "1,2", "far", "--app", "a"], "a radius is"),
            (["region", "add", "home", "1,2", "inf", "--app", "a"], "a radius is"),
            (["region", "add", "home", "1,2", "10001km", "--app", "a"], "a radius is"),
            (["region", "add", "", "1,2", "10", "--app", "a"], "identifier"),
            (["region", "remove", "--app", "a"], "identifier"), (["region", "remove", "home"], "--app"),
            (["app", "location", "a", "--always", "--deny"], "--deny"), (["app", "location"], "id"),
        ] as [([String], String)])
    func `R6: Invalid arguments are refused before any request`(
        arguments: [String], words: String
    ) async throws {
        let world = try World()
        #expect(await CommandLineProgram.run(world.invocation(arguments)) == .usage)
        #expect(world.errors.text.contains(words), "\(world.errors.text)")
    }

    @Test(
        arguments: [
            ("52.5,13.25", 52.5, 13.25), ("-33.5,-70.25", -33.5, -70.25), ("33.5s,70.25w", -33.5, -70.25),
            ("33.5N,+1E", nil, nil), ("90,-180", 90, -180), ("90.1,0", nil, nil), ("0,181", nil, nil),
            ("1,2,3", nil, nil),
            (",", nil, nil), ("-1S,2", nil, nil), ("0x1p3,2", nil, nil), ("1E,2N", nil, nil), ("1e1,2", nil, nil),
        ] as [(String, Double?, Double?)])
    func `R6: You type locations in degrees`(text: String, latitude: Double?, longitude: Double?) {
        let place = try? PlaceArgument.parse(text).coordinate
        #expect(place?.latitude == latitude && place?.longitude == longitude)
    }

    @Test func `R6: region remove removes a region`() async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(await world.run("region", "remove", "home", "--app", Self.app) == .whole)
        #expect(
            service.requests.first.map { "\($0.method) \($0.path)" } == "DELETE /v1/location/\(Self.app)/regions/home")
        #expect(world.output.text == "org.example.Arrivals: region home was removed\n")
    }

    @Test func `R6: Without regions, region list prints the command that adds one`() async throws {
        let world = try World()
        let service = try world.service { _ in try .json(LocationStatus(sources: [], apps: [])) }
        defer { service.stop() }
        #expect(await world.run("region", "list") == .whole)
        #expect(world.output.text.isEmpty && world.errors.text.contains("nightshift region add"))
    }

    @Test func `R6: With --json each command prints the JSON body of the API's response`() async throws {
        func output(_ arguments: [String]) async throws -> Data {
            let world = try World()
            let service = try service(world)
            defer { service.stop() }
            #expect(await CommandLineProgram.run(world.invocation(arguments + ["--json"])) == .whole)
            return Data(world.output.text.utf8)
        }
        for arguments in [["location"], ["region", "list"]] {
            #expect(try JSON.decode(LocationStatus.self, from: await output(arguments)) == LocationSamples.device)
        }
        for arguments in [
            ["app", "location", Self.app], ["region", "list", "--app", Self.app],
            ["region", "add", "home", "1,2", "3", "--app", Self.app], ["region", "remove", "home", "--app", Self.app],
        ] {
            #expect(
                try JSON.decode(AppLocationStatus.self, from: await output(arguments)) == LocationSamples.arrivals,
                "\(arguments)")
        }
    }

    @Test func `R6: app show and app why print information about location and regions`() async throws {
        struct Document: Decodable {
            var location: AppLocationStatus
            var refresh: AppRefreshStatus?
        }
        for command in ["show", "why"] {
            let world = try World()
            let service = try service(world)
            #expect(await world.run("app", command, "org.example.Photos") == .whole)
            #expect(world.output.text.contains("Location:\n") && world.output.text.contains("  home: inside, 150 m"))
            service.stop()
            let other = try World()
            let another = try self.service(other)
            #expect(await other.run("app", command, "org.example.Photos", "--json") == .whole)
            another.stop()
            let document = try JSON.decode(Document.self, from: Data(other.output.text.utf8))
            #expect(document.location == LocationSamples.arrivals && document.refresh == nil)
        }
    }

    @Test func `R6: region add refuses a region beyond the limit and gives advice`() async throws {
        let world = try World()
        let service = try world.service { _ in
            throw Problem.tooManyRegions("It watches 20 regions already. Remove one first.")
        }
        defer { service.stop() }
        #expect(await world.run("region", "add", "home", "1,2", "3", "--app", Self.app) == .failed)
        #expect(world.errors.text.contains("Remove one first"))
    }
}
