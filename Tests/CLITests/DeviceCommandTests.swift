import Foundation
import NightshiftAPI
import Testing

@testable import CLI

struct DeviceCommandTests {
    private static var device: DeviceStatus {
        var conditions = DeviceConditions()
        conditions.power = .battery
        conditions.batteryPercentage = 42
        conditions.isIdle = true
        conditions.freeBytes = 5 << 30
        let sources: [DeviceKey: DeviceValue.Source] = [
            .power: .upower, .battery: .upower, .idle: .override, .freeBytes: .kernel, .network: .networkManager,
        ]
        var settings = DeviceSettings()
        settings.overrides = [.idle: "yes"]
        return DeviceStatus(
            conditions: conditions,
            values: DeviceKey.conditions.map {
                DeviceValue(key: $0, value: conditions[$0], source: sources[$0] ?? .assumed)
            },
            providers: [
                DeviceProvider(name: .upower, isPresent: true, detail: "Its Percentage was 250."),
                DeviceProvider(name: .networkManager, isPresent: true),
                DeviceProvider(name: .logind, isPresent: false, detail: "Nobody owns org.freedesktop.login1."),
            ],
            front: FrontStatus(source: .wlrForeignToplevel, app: AppSamples.id),
            doze: DozeStatus(phase: .dozing, since: Samples.ago(300), until: Samples.now.addingTimeInterval(600)),
            holders: [], settings: settings)
    }

    private func service(_ world: World) throws -> ScriptedService {
        try world.service { request in
            switch (request.method, request.path) {
            case ("GET", "/v1/device"), ("PATCH", "/v1/device"): try .json(Self.device)
            case ("POST", "/v1/device/doze"):
                throw Problem.conflict("The device cannot doze now. The device is in use.")
            default: throw Problem.notFound("There is nothing at \(request.path).")
            }
        }
    }

    @Test func `L6: device prints each value and its source, doze, and the apps that keep the device awake`() throws {
        var held = Self.device
        held.doze = DozeStatus(phase: .awake, since: Samples.ago(20), awakeReason: .held)
        held.holders = [
            AwakeHolder(app: AppSamples.id, tasks: ["Export", "\u{1b}[2J"], since: Samples.ago(10))
        ]
        held.settings.backgroundPolicy = .contiguous
        held.providers = []
        held.front = FrontStatus(source: .x11)
        held.settings.followsFront = false
        var window = Self.device
        window.doze = DozeStatus(
            phase: .window, since: Samples.ago(5), windowReason: .maintenance,
            until: Samples.now.addingTimeInterval(295))
        window.front = FrontStatus(detail: "there is no display")
        let report = DeviceStatusReport(times: Samples.times, style: Style(isEnabled: false))
        try Fixture.check(
            "device",
            [Self.device, held, window].map { report.lines($0).joined(separator: "\n") }.joined(separator: "\n\n"))
    }

    @Test(
        arguments: [
            (["set", "power=battery", "battery=42"], #"{"overrides":{"battery":"42","power":"battery"}}"#),
            (["set", "networkName=a=b"], #"{"overrides":{"networkName":"a=b"}}"#),
            (["unset", "idle"], #"{"overrides":{"idle":null}}"#),
            (["policy", "opportunistic:30"], #"{"backgroundPolicy":"opportunistic:30"}"#),
            (["policy", "contiguous", "--lead", "10"], #"{"backgroundPolicy":"contiguous","expirationLead":10}"#),
            (["policy", "--follow-front", "off"], #"{"followsFront":false}"#),
            (["policy", "--follow-front", "on"], #"{"followsFront":true}"#),
        ] as [([String], String)])
    func `L6: Each change sends one request`(arguments: [String], body: String) async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(await CommandLineProgram.run(world.invocation(["device"] + arguments)) == .whole)
        let request = try #require(service.requests.first)
        #expect(service.requests.count == 1 && request.method == "PATCH" && request.path == "/v1/device")
        #expect(String(decoding: request.body, as: UTF8.self) == body)
    }

    @Test func `L6: device set prints the overrides, even before the conditions follow`() {
        var device = Self.device
        device.settings.overrides = [.power: "external", .battery: "42", .location: DeviceKey.hiddenPlace]
        let lines = DeviceStatusReport(times: Samples.times, style: Style(isEnabled: false)).lines(settings: device)
        #expect(
            lines.suffix(3) == [
                "  power        external, set by 'nightshift device set'",
                "  battery      42 %, set by 'nightshift device set'",
                "  location     set, set by 'nightshift device set'",
            ])
    }

    @Test func `L6: device unset --all removes every override`() async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(await world.run("device", "unset", "--all") == .whole)
        let change = try JSON.decode(DeviceChange.self, from: try #require(service.requests.first).body)
        #expect(change.overrides?.count == DeviceKey.allCases.count)
    }

    @Test(
        arguments: [
            (["set", "power=mains"], "external or battery"), (["set", "color=red"], "The keys are: power, battery"),
            (["set", "battery=101"], "a percentage from 0 to 100"), (["set", "idle"], "such as power=battery"),
            (["unset"], "or --all"), (["unset", "power", "--all"], "or --all"),
            (["policy"], "Give a policy"), (["policy", "generous"], "contiguous and opportunistic"),
            (["policy", "contiguous:5"], "10 to 3600"), (["policy", "--lead", "100"], "1 to 30 seconds"),
            (["policy", "--follow-front", "maybe"], "--follow-front"),
        ] as [([String], String)])
    func `L6: device set refuses an invalid value before any request`(arguments: [String], words: String) async throws {
        let world = try World()
        #expect(await CommandLineProgram.run(world.invocation(["device"] + arguments)) == .usage)
        #expect(world.errors.text.contains(words), "\(world.errors.text)")
    }

    @Test func `L6: device doze prints why the service refused`() async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(await world.run("device", "doze") == .failed)
        #expect(world.errors.text.contains("The device is in use."))
        #expect(try JSON.decode(DozeRequest.self, from: service.requests[0].body).phase == .dozing)
    }

    @Test func `B1: doctor reports unreadable data and prints the command that deletes the data`() {
        var device = Self.device
        device.unreadable = "A value 'overrides' is missing."
        let told = DoctorChecks.device(device)
        #expect(told.result == .warn && told.detail.contains("'overrides' is missing"))
        var session = SessionStatus(id: .terminal, settings: SessionSettings(), activeTasks: 0, tasks: 0)
        #expect(DoctorChecks.rows(AppList(apps: []), [session]) == [])
        session.unreadable = "It is no JSON."
        let app = UnreadableApp(id: AppSamples.id, reason: "It is no JSON.")
        let found = DoctorChecks.rows(AppList(apps: [], unreadable: [app]), [session])
        #expect(found.map(\.result) == [.warn, .warn])
        #expect(found.first?.advice?.hasSuffix(": nightshift app remove \(AppSamples.id)") == true)
    }

    @Test func `L8: doctor names the source of the focus, or the calls to use without a source`() {
        var device = Self.device
        #expect(DoctorChecks.front(device).detail == "wlr-foreign-toplevel reports the focused window")
        #expect(DoctorChecks.front(device).advice == nil)
        device.front = FrontStatus(detail: "there is no display")
        let untold = DoctorChecks.front(device)
        #expect(untold.result == .ok && untold.detail == "the focused window is unknown: there is no display")
        #expect(untold.advice?.contains("nightshift app activate ID") == true)
        #expect(untold.advice?.contains("Application.enterForeground()") == true)
        device.settings.followsFront = false
        #expect(DoctorChecks.front(device).detail.contains("do not follow their windows"))
    }

    @Test func `L4: app policy prints and sets the background policy`() async throws {
        let world = try World()
        let service = try world.service { request in
            guard request.path == "/v1/apps/org.example.Photos" else { throw Problem.notFound(request.path) }
            return try .json(AppSamples.dozing)
        }
        defer { service.stop() }
        #expect(await world.run("app", "policy", "org.example.Photos") == .whole)
        #expect(
            world.output.text
                == "org.example.Photos: opportunistic, 30 s while the device is awake anyway (set for this app)\n")
        #expect(await world.run("app", "policy", "org.example.Photos", "contiguous:60") == .whole)
        #expect(service.requests.map(\.method) == ["GET", "PATCH"])
        #expect(String(decoding: service.requests[1].body, as: UTF8.self) == #"{"backgroundPolicy":"contiguous:60"}"#)
    }
}
