import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import Nightshift

/// The applications and managers that must exist until their process ends. Nothing else retains them.
@MainActor private var kept: [AnyObject] = []

/// Tests that region events and significant changes reach the app's delegates (rows R6, R7 and R8).
@Suite struct LocationEventTests {
    private static let time = Date(timeIntervalSince1970: 1_800_000_000)

    private func crossing(_ kind: LocationEvent.Kind, _ identifier: String) throws -> LocationEvent {
        var event = LocationEvent(kind: kind, time: Self.time)
        event.region = MonitoredRegion(
            identifier: identifier, center: try #require(Coordinate(latitude: 52.5, longitude: 13.4)), radius: 100)
        return event
    }

    private func change(_ latitude: Double, _ longitude: Double) throws -> LocationEvent {
        var event = LocationEvent(kind: .changed, time: Self.time)
        let place = try #require(Coordinate(latitude: latitude, longitude: longitude))
        event.place = Place(place, accuracy: 900, time: Self.time)
        return event
    }

    private func connect(_ world: World) async throws -> AppProcess {
        let process = world.process()
        try process.connection.openChannel(until: .now + .seconds(60))
        return process
    }

    private func acknowledged(_ command: Int64, in world: World) async throws {
        try await world.service.state.wait(for: "the acknowledgement of \(command)") {
            $0.acknowledgedCommands.contains(command)
        }
    }

    /// Sends a command that the app acknowledges only after it has handled earlier commands.
    private func passBehind(_ number: Int64, in world: World) async throws {
        var behind = ProcessCommand(number: number, action: .enter)
        behind.state = .inactive
        world.service.command(behind)
        try await acknowledged(number, in: world)
    }

    // MARK: - Regions

    @Test func `R6: Each manager's delegate gets a region event and its state before the wake ends`()
        async throws
    {
        let world = try World()
        let process = try await connect(world)
        let listeners = [LocationListener(), LocationListener()]
        let managers = listeners.map { listener in
            let manager = CLLocationManager(connection: process.connection)
            manager.delegate = listener
            return manager
        }
        for listener in listeners { try await listener.heard.wait(for: "the permission") { !$0.isEmpty } }
        world.service.tell(1, try crossing(.entered, "home"))
        try await acknowledged(1, in: world)
        world.service.tell(2, try crossing(.left, "home"))
        try await acknowledged(2, in: world)
        for listener in listeners {
            #expect(
                try await listener.heard.are([
                    "may authorizedAlways", "entered home", "inside home", "left home", "outside home",
                ]))
        }
        withExtendedLifetime(managers) {}
    }

    @Test func `R6: A region event waits for the manager that an app creates during its launch`() async throws {
        let world = try World()
        let process = try await connect(world)
        world.service.tell(1, try crossing(.entered, "home"), limit: 600)
        world.service.tell(2, try crossing(.left, "work"), limit: 600)
        try await passBehind(3, in: world)
        let manager = CLLocationManager(connection: process.connection)
        #expect(world.service.state.read { $0.acknowledgedCommands } == [3])
        let listener = LocationListener()
        manager.delegate = listener
        try await acknowledged(1, in: world)
        try await acknowledged(2, in: world)
        #expect(
            listener.heard.read { $0.filter { !$0.hasPrefix("may") } } == [
                "entered home", "inside home", "left work", "outside work",
            ])
        withExtendedLifetime(manager) {}
    }

    @Test func `R6: A later event for a region replaces the earlier event and completes its wake`()
        async throws
    {
        let world = try World()
        let process = try await connect(world)
        world.service.tell(1, try crossing(.entered, "home"), limit: 600)
        world.service.tell(2, try crossing(.left, "home"), limit: 600)
        try await acknowledged(1, in: world)
        let manager = CLLocationManager(connection: process.connection)
        let listener = LocationListener()
        manager.delegate = listener
        try await acknowledged(2, in: world)
        #expect(listener.heard.read { $0.filter { !$0.hasPrefix("may") } } == ["left home", "outside home"])
        withExtendedLifetime(manager) {}
    }

    @Test func `R6: A region event whose acknowledgement was lost is delivered once`() async throws {
        let world = try World()
        let process = try await connect(world)
        let manager = CLLocationManager(connection: process.connection)
        let listener = LocationListener()
        manager.delegate = listener
        world.service.tell(1, try crossing(.entered, "home"), wake: 7)
        try await acknowledged(1, in: world)
        // A restarted service numbers its commands from the beginning.
        world.service.tell(2, try crossing(.entered, "home"), wake: 7)
        try await acknowledged(2, in: world)
        world.service.tell(3, try crossing(.entered, "home"), wake: 8)
        try await acknowledged(3, in: world)
        #expect(listener.heard.read { $0.count { $0 == "entered home" } } == 2)
        withExtendedLifetime(manager) {}
    }

    @Test func `R6: The app's next process does not get a region event that its last process received`() async throws {
        let world = try World()
        for (number, count) in [(1, 1), (2, 0)] as [(Int64, Int)] {
            let process = try await connect(world)
            let manager = CLLocationManager(connection: process.connection)
            let listener = LocationListener()
            manager.delegate = listener
            try await listener.heard.wait(for: "the permission") { !$0.isEmpty }
            // The acknowledgement of the first event is lost together with its process.
            world.service.tell(number, try crossing(.entered, "home"), wake: 7)
            try await acknowledged(number, in: world)
            #expect(listener.heard.read { $0.count { $0 == "entered home" } } == count)
            process.connection.close()
            world.service.breakStreams()
            withExtendedLifetime(manager) {}
        }
        // The next two events are new. The first has the same wake number but another time, as after a loss of the
        // service's state. The second has another wake number.
        let process = try await connect(world)
        let manager = CLLocationManager(connection: process.connection)
        let listener = LocationListener()
        manager.delegate = listener
        var later = try crossing(.entered, "home")
        later.time += 60
        world.service.tell(3, later, wake: 7)
        world.service.tell(4, try crossing(.entered, "home"), wake: 8)
        try await acknowledged(3, in: world)
        try await acknowledged(4, in: world)
        #expect(listener.heard.read { $0.count { $0 == "entered home" } } == 2)
        withExtendedLifetime(manager) {}
    }

    @Test func `R6: The app's next process gets a region event that no manager received`() async throws {
        let world = try World()
        let first = try await connect(world)
        world.service.tell(1, try crossing(.entered, "home"), wake: 7, limit: 0.2)
        try await acknowledged(1, in: world)
        first.connection.close()
        world.service.breakStreams()
        let second = try await connect(world)
        let manager = CLLocationManager(connection: second.connection)
        let listener = LocationListener()
        manager.delegate = listener
        world.service.tell(2, try crossing(.entered, "home"), wake: 7)
        try await acknowledged(2, in: world)
        #expect(listener.heard.read { $0.contains("entered home") })
        withExtendedLifetime(manager) {}
    }

    @Test func `R8: A wake without a receiver ends in time, prints advice and keeps its event`()
        async throws
    {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let world = try World()
            let process = world.process()
            try process.connection.openChannel(until: .now + .seconds(60))
            var event = LocationEvent(kind: .entered, time: Date())
            event.region = MonitoredRegion(
                identifier: "home", center: try #require(Coordinate(latitude: 52.5, longitude: 13.4)), radius: 100)
            world.service.tell(1, event, limit: 0.2)
            try await world.service.state.wait(for: "the first") { $0.acknowledgedCommands == [1] }
            world.service.tell(2, event, limit: 0.2)
            try await world.service.state.wait(for: "the second") { $0.acknowledgedCommands == [1, 2] }
            let manager = CLLocationManager(connection: process.connection)
            let listener = LocationListener()
            manager.delegate = listener
            try await listener.heard.wait(for: "the crossing") { $0.contains("inside home") }
            try #require(listener.heard.read { $0.count { $0 == "entered home" } } == 1)
            withExtendedLifetime(manager) {}
            exit(EXIT_SUCCESS)
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.components(separatedBy: "manager.delegate = self").count == 2, "\(said)")
        #expect(said.contains("the entry into the region 'home'"), "\(said)")
    }

    @Test func `R6: The library prints once that a delegate has no method for a region event`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let world = try World()
            let process = world.process()
            try process.connection.openChannel(until: .now + .seconds(60))
            let manager = CLLocationManager(connection: process.connection)
            let (deaf, stateful) = (DeafDelegate(), StatefulDelegate())
            manager.delegate = stateful
            var event = LocationEvent(kind: .left, time: Date())
            event.region = MonitoredRegion(
                identifier: "home", center: try #require(Coordinate(latitude: 52.5, longitude: 13.4)), radius: 100)
            world.service.tell(1, event)
            try await world.service.state.wait(for: "the first") { $0.acknowledgedCommands == [1] }
            manager.delegate = deaf
            world.service.tell(2, event)
            world.service.tell(3, event)
            try await world.service.state.wait(for: "all") { $0.acknowledgedCommands == [1, 2, 3] }
            exit(EXIT_SUCCESS)
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.components(separatedBy: "DeafDelegate does not implement the method").count == 2, "\(said)")
        #expect(said.contains("locationManager(_:didExitRegion:)") && !said.contains("StatefulDelegate"), "\(said)")
    }

    @Test func `R6: An event that cannot be decoded completes its wake`() async throws {
        let world = try World()
        _ = try await connect(world)
        world.service.wake(1, .region, "home", payload: Data("{}".utf8))
        world.service.wake(2, .significantChange)
        try await acknowledged(1, in: world)
        try await acknowledged(2, in: world)
    }

    // MARK: - Significant changes

    @Test func `R7: Managers that monitor significant changes get each change with its location and time`()
        async throws
    {
        let world = try World()
        let process = try await connect(world)
        let (started, other) = (LocationListener(), PlaceListener())
        let manager = CLLocationManager(connection: process.connection)
        let second = CLLocationManager(connection: process.connection)
        manager.delegate = started
        second.delegate = other
        world.service.tell(1, try change(52.5, 13.4), limit: 600)
        try await passBehind(2, in: world)
        // An app that was launched for the change starts monitoring again to receive it.
        manager.startMonitoringSignificantLocationChanges()
        try await acknowledged(1, in: world)
        #expect(started.heard.read { $0.contains(#"at ["52.5, 13.4"]"#) })
        second.startMonitoringSignificantLocationChanges()
        world.service.tell(3, try change(52.6, 13.4))
        try await acknowledged(3, in: world)
        let location = try #require(other.places.read { $0.first })
        #expect(other.places.read { $0.count } == 1 && location.coordinate.latitude == 52.6)
        #expect(location.horizontalAccuracy == 900 && location.timestamp == Self.time && location.speed == -1)
        try await eventually("the place") { manager.location?.coordinate.latitude == 52.6 }
        withExtendedLifetime(second) {}
    }

    @Test func `R7: The delegate gets a change without a known location as a temporary error`() async throws {
        let world = try World()
        let process = try await connect(world)
        let manager = CLLocationManager(connection: process.connection)
        let listener = LocationListener()
        manager.delegate = listener
        manager.startMonitoringSignificantLocationChanges()
        world.service.tell(1, LocationEvent(kind: .changed, time: Self.time))
        try await acknowledged(1, in: world)
        #expect(listener.heard.read { $0.filter { !$0.hasPrefix("may") } } == ["failed 0"])
        withExtendedLifetime(manager) {}
    }

    // MARK: - The launch

    @Test(arguments: [
        ("region", true), ("fetch,significantChange", true), ("fetch", false), ("", false),
    ])
    @MainActor func `R6: The launch options show that the app was launched for a location event`(
        _ wake: String, _ isForLocation: Bool
    ) throws {
        let world = try World()
        let application = Application(connection: world.process().connection)
        let delegate = LaunchedDelegate()
        application.delegate = delegate
        application.launch(environment: [
            "NIGHTSHIFT_APP": "/app", "NIGHTSHIFT_LAUNCH": "background", "NIGHTSHIFT_WAKE": wake,
        ])
        kept.append(application)
        #expect((delegate.options?[.location] as? Bool == true) == isForLocation)
        #expect(delegate.options?[.isBackgroundLaunch] as? Bool == true)
    }
}

private final class DeafDelegate: NSObject, CLLocationManagerDelegate {}

private final class StatefulDelegate: NSObject, CLLocationManagerDelegate {
    func locationManager(_ manager: CLLocationManager, didDetermineState state: CLRegionState, for region: CLRegion) {}
}

private final class PlaceListener: NSObject, CLLocationManagerDelegate, Sendable {
    let places = Watched<[CLLocation]>([])

    func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation]) {
        places.update { $0 += locations }
    }
}

@MainActor private final class LaunchedDelegate: ApplicationDelegate {
    var options: [Application.LaunchOptionsKey: Any]?

    nonisolated init() {}

    func application(
        _ application: Application, didFinishLaunchingWithOptions launchOptions: [Application.LaunchOptionsKey: Any]?
    ) -> Bool {
        options = launchOptions
        return true
    }
}
