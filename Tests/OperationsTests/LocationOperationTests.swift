import Apps
import Foundation
import Location
import NightshiftAPI
import Operations
import SimulationSupport
import Store
import TestSupport
import Testing

/// R6: Location requests of app processes, and the delivery of region events to these processes.
@Suite(.timeLimit(.minutes(20))) struct LocationOperationTests {
    private static let keys = """
        X-Nightshift-BackgroundModes=transfer;
        X-Nightshift-LocationReason=It waters the plants.
        """

    private static func region(_ identifier: String = "home") throws -> MonitoredRegion {
        let center = try #require(Coordinate(latitude: 52.5, longitude: 13.4))
        return MonitoredRegion(identifier: identifier, center: center, radius: 100)
    }

    /// Moves the device this many degrees north of the region, this many seconds later.
    private static func move(_ scene: OperationScene, _ degrees: Double, after seconds: Double = 0) async throws {
        scene.clock.advance(to: scene.clock.now().bootSeconds + seconds)
        let place = try #require(Coordinate(latitude: 52.5 + degrees, longitude: 13.4))
        let fix = try #require(Fix(place: place, accuracy: 5, time: scene.clock.now().bootSeconds))
        await scene.location.take(.fix(fix, source: "gpsd"))
    }

    @Test func `R6: A process shares its app's regions, and only a visible app prompts the user`() async throws {
        let scene = try await OperationScene(keys: Self.keys)
        let (operations, region) = (scene.operations, try Self.region())
        let process = try await scene.launch()
        let stream = try await scene.apps.connect(process: process, executable: nil, app: OperationScene.app)
        let events = Watched<[ProcessEvent]>([])
        let reader = Task { for await event in stream { events.update { $0.append(event) } } }
        #expect(try await operations.processLocation(by: CallingProcess(process)).permission == .ask)
        let added = try await operations.addRegion(region, by: CallingProcess(process))
        #expect(added.regions == [RegionStatus(region: region, state: .unknown)])
        #expect(
            try await operations.setSignificantChanges(true, by: CallingProcess(process))
                .monitorsSignificantChanges)
        try await operations.removeRegion("nothing", by: CallingProcess(process))
        let stranger = try await problem {
            try await operations.addRegion(region, by: CallingProcess(getpid()))
        }
        #expect(stranger.type == "/problems/not-connected")

        scene.answer.update { $0 = .denied }
        try await scene.apps.change(process: process, to: .background)
        let request = LocationAuthorizationRequest(permission: .always)
        #expect(try await operations.requestLocation(request, by: CallingProcess(process)).permission == .ask)
        scene.answer.update { $0 = .always }
        try await scene.apps.change(process: process, to: .active)
        _ = try await operations.requestLocation(request, by: CallingProcess(process))
        try await events.wait(for: "the user's permission") {
            $0.contains(.location(LocationNotice(permission: .always)))
        }
        #expect(try await scene.location.status(of: OperationScene.app).reason == "It waters the plants.")
        try await operations.removeRegion("home", by: CallingProcess(process))
        _ = try await operations.setSignificantChanges(false, by: CallingProcess(process))
        let left = try await operations.processLocation(by: CallingProcess(process))
        #expect(left.regions == [] && !left.monitorsSignificantChanges)
        reader.cancel()
        try await scene.end()
    }

    @Test func `R6: A location request never launches an app, and the receiver is off afterwards`()
        async throws
    {
        let scene = try await OperationScene(keys: Self.keys)
        let (app, request) = (OperationScene.app, LocationUpdateRequest(accuracy: 10))
        await scene.location.take(.sources([], canMonitorRegions: true, canMonitorSignificantChanges: false))
        let process = try await scene.launch()
        // The app executes commands at once, such as a snapshot before it is suspended.
        let commands = try await scene.apps.connect(process: process, executable: nil, app: app)
        let answering = Task { [apps = scene.apps] in
            for await event in commands {
                guard case .command(let command) = event else { continue }
                try? await apps.acknowledge(process: process, command: command.number)
            }
        }
        try await scene.apps.change(process: process, to: .active)
        // The service shows the prompt, and the user answers.
        scene.answer.update { $0 = .whenInUse }
        let stream = try await scene.operations.locationUpdates(request, by: CallingProcess(process))
        let places = Watched<[LocationUpdate]>([])
        let reader = Task { for await update in stream { places.update { $0.append(update) } } }
        try await eventually("the question") { scene.places.wishes.last?.fix == 10 }
        try await Self.move(scene, 0.01)
        try await places.wait(for: "a place") { $0.count == 1 }
        await scene.location.take(.receiver(seconds: 1))

        try await scene.apps.change(process: process, to: .background)
        try await eventually("its suspension") {
            try await scene.location.status(of: app).updates?.isOn == false
        }
        #expect(scene.places.wishes.last?.fix == nil)
        try await Self.move(scene, 0.02)
        // The location is outdated when the minute has passed.
        scene.clock.advance(to: scene.clock.now().bootSeconds + 60)
        _ = try await scene.apps.activate(app)
        try await eventually("the next question") { scene.places.wishes.last?.fix == 10 }
        #expect(places.read(\.count) == 1)
        scene.host.end(process, .exited(0))
        // The connections of the process end with the process.
        reader.cancel()
        answering.cancel()
        try await eventually("the end of the request") { try await scene.location.status(of: app).updates == nil }
        #expect(scene.places.wishes.last?.fix == nil && scene.host.living.isEmpty)
        try await scene.end()
    }

    @Test func `R6: A location request of an app that is not visible is refused without a prompt`() async throws {
        let scene = try await OperationScene(keys: Self.keys)
        let process = try await scene.launch()
        try await scene.apps.change(process: process, to: .background)
        scene.answer.update { $0 = .whenInUse }
        let stream = try await scene.operations.locationUpdates(
            LocationUpdateRequest(accuracy: 10, isOnce: true), by: CallingProcess(process))
        var heard: [LocationUpdate] = []
        for await update in stream { heard.append(update) }
        #expect(heard == [LocationUpdate(failure: .denied)])
        #expect(try await scene.location.status(of: OperationScene.app).permission == .ask)
        try await scene.end()
    }

    @Test func `R6: A region event launches an app that does not run, and is delivered once`() async throws {
        let scene = try await OperationScene(keys: Self.keys)
        let app = OperationScene.app
        _ = try await scene.location.change(app, AppLocationChange(permission: .always))
        try await scene.location.addRegion(try Self.region(), for: app)
        try await Self.move(scene, 0.01)
        try await Self.move(scene, 0, after: 300)
        try await Self.move(scene, 0, after: 30)
        try await eventually("the launch") { !scene.host.living.isEmpty }
        let process = try #require(scene.host.living.first)
        let environment = try #require(scene.host.plan(process)).environment
        #expect(environment["NIGHTSHIFT_WAKE"] == "region")
        let file = try Data(contentsOf: URL(filePath: try #require(environment["NIGHTSHIFT_PAYLOAD"])))
        let told = try JSON.decode([LocationEvent].self, from: file)
        #expect(told.map(\.kind) == [.entered] && told.map(\.region?.identifier) == ["home"])
        scene.host.end(process, .exited(0))
        try await eventually("the end") { try await scene.store.read { try $0.wantedWakes() }.isEmpty }
        #expect(try await scene.journal(.regionEntered).count == 1)
        #expect(try await scene.location.status(of: app).wakes == 1)
        try await scene.end()
    }

    @Test func `R6: A withdrawn permission cancels a wake that has not started`() async throws {
        let scene = try await OperationScene(keys: Self.keys)
        let app = OperationScene.app
        let process = try await scene.launch()
        let apps = scene.apps
        _ = try await scene.location.change(app, AppLocationChange(permission: .always))
        try await scene.location.addRegion(try Self.region(), for: app)
        try await Self.move(scene, 0.01)
        // The service does not launch an app that the user has quit. Meanwhile the user restarts the app and changes
        // the setting.
        async let quit = apps.quit(app, force: true)
        try await eventually("the word of the quit") { try await scene.snapshot().app?.isForceQuit == true }
        scene.host.end(process, .exited(0))
        _ = try await quit
        try await eventually("the pause") {
            try await scene.location.status(of: app).sentence.contains("You force-quit it")
        }
        try await Self.move(scene, 0, after: 300)
        try await Self.move(scene, 0, after: 30)
        #expect(try await scene.store.read { try $0.wantedWakes() }.isEmpty)
        _ = try await scene.launch()
        try await eventually("somebody looks") {
            try await scene.location.status(of: app).sentence.contains("You force-quit it") == false
        }
        _ = try await scene.location.change(app, AppLocationChange(permission: .denied))
        try await Self.move(scene, 0, after: 60)
        try await Self.move(scene, 0, after: 30)
        #expect(try await scene.store.read { try $0.wantedWakes() }.isEmpty)
        #expect(try await scene.journal(.regionEntered).isEmpty)
        try await scene.end()
    }

    @Test func `R6: The service forgets the location data of a removed app`() async throws {
        let scene = try await OperationScene(keys: Self.keys)
        let app = OperationScene.app
        _ = try await scene.location.change(app, AppLocationChange(permission: .always))
        try await scene.apps.uninstall(app)
        try await eventually("its end") { try await scene.location.status().apps.isEmpty }
        #expect(try await problem { try await scene.location.status(of: app) }.status == 404)
        let program = try scene.host.startByUser().pid
        let stream = try await scene.apps.connect(process: program, executable: nil, app: nil)
        let refusal = try await problem {
            try await scene.operations.processLocation(by: CallingProcess(program))
        }
        #expect(refusal.status == 403)
        withExtendedLifetime(stream) {}
        try await scene.end()
    }
}
