import Foundation
import NightshiftAPI
import TestSupport
import Testing
import app_probe

/// Tests of regions and significant changes in a Swift app: real processes, the real service, and locations set on the
/// device.
@Suite(.serialized, .timeLimit(.minutes(20))) struct RegionAppTests {
    /// The timeout for region events. An event counts after 20 s, and the service queries the receiver as rarely as
    /// possible.
    private static let timeout: Duration = .seconds(180)
    private static let home = (latitude: 52.52, longitude: 13.405)

    private func region(at point: Point? = .launched) -> RegionOrder {
        RegionOrder("home", Self.home.latitude, Self.home.longitude, radius: 200, at: point)
    }

    /// Sets the device's location to this many metres north of the region's centre.
    private func move(_ app: AppFixture, metres: Double) async throws {
        let place = "\(Self.home.latitude + metres / 111_195),\(Self.home.longitude),5"
        try await app.api.send("PATCH", "/v1/device", Data(#"{"overrides": {"location": "\#(place)"}}"#.utf8))
    }

    private func allow(_ app: AppFixture, _ permission: LocationPermission) async throws {
        let change = AppLocationChange(permission: permission)
        try await app.api.send("PATCH", "/v1/location/\(app.app)", try JSON.encode(change))
    }

    @Test func `R6: Each region event wakes a suspended app, or launches one that is gone, once`()
        async throws
    {
        let app = try AppFixture { orders in
            var location = LocationOrder()
            location.regions = [region()]
            location.regions[0].asksForState = true
            orders.location = location
        }
        try await app.install()
        try await move(app, metres: 5_000)
        try await allow(app, .always)
        try await app.launch()
        try await app.wait(for: .regionStarted)
        #expect(try await app.wait(for: .regionState, within: Self.timeout).text == "outside")
        try await app.perform("background")
        try await app.waitUntilSuspended()

        try await move(app, metres: 0)
        #expect(try await app.wait(for: .entered, within: Self.timeout).description == "home")
        try await app.waitUntilSuspended()
        #expect(app.seen(.launched).count == 1 && app.seen(.regionState).map(\.text) == ["outside", "inside"])

        // The service keeps the region, so the next launch only creates a manager.
        try app.order { $0.location?.regions = [] }
        try await app.quit()
        try await move(app, metres: 5_000)
        try await app.wait(for: .left, within: Self.timeout)
        #expect(app.seen(.launched).map(\.text) == ["foreground", "background"])
        #expect(app.seen(.launched).last?.description == "location" && app.seen(.regions).last?.text == "home")
        #expect(app.seen(.entered).count == 1 && app.seen(.left).count == 1)
        let crossings = app.seen(.entered) + app.seen(.left)
        #expect(crossings.filter { !$0.isOnMainThread }.isEmpty)
    }

    @Test func `R6: Without permission the service monitors no region, and reports a denial to the app`()
        async throws
    {
        let app = try AppFixture { orders in
            var location = LocationOrder()
            location.regions = [region()]
            orders.location = location
        }
        try await app.install()
        try await move(app, metres: 0)
        try await app.launch()
        try await app.wait(for: .mayLocate)
        #expect(app.seen(.mayLocate).map(\.text) == ["notDetermined"] && app.seen(.regionStarted).isEmpty)
        try await allow(app, .always)
        try await app.wait(for: .regionStarted)
        try await allow(app, .denied)
        try await app.wait(for: .mayLocate, count: 3)
        #expect(app.seen(.mayLocate).map(\.text) == ["notDetermined", "authorizedAlways", "denied"])
    }

    @Test func `R8: After a region event the app keeps its background time until its task ends`() async throws {
        let app = try AppFixture { orders in
            var location = LocationOrder()
            location.regions = [region()]
            orders.location = location
            orders.backgroundTasks = [BackgroundTaskOrder(.begin, at: .crossed)]
        }
        let gate = app.gate("finished")
        try app.order { orders in
            var end = BackgroundTaskOrder(.end, at: .crossed)
            end.gate = gate
            orders.backgroundTasks.append(end)
        }
        try await app.install()
        try await move(app, metres: 5_000)
        try await allow(app, .always)
        try await app.launch()
        try await app.wait(for: .regionStarted)
        try await app.perform("background")
        try await app.waitUntilSuspended()
        try await move(app, metres: 0)
        try await app.wait(for: .entered, within: Self.timeout)
        try await app.wait(for: .taskBegun)
        try await app.wait(for: "the crossing's own time to be over") { $0.state == .background && $0.wakes.isEmpty }
        try app.open(gate)
        try await app.wait(for: .taskEnded)
        try await app.waitUntilSuspended()
    }
}
