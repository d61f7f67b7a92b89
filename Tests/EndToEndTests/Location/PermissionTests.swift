import Foundation
import NightshiftAPI
import TestSupport
import Testing
import app_probe

/// Tests of an app that requests access to the location, and of a user who answers the notification of a real desktop
/// server.
@Suite(.timeLimit(.minutes(20))) struct PermissionTests {
    enum Answer: CaseIterable {
        case allow, deny, dismiss
    }

    @Test(arguments: Answer.allCases)
    func `R6: The app gets the user's answer to a notification that asks for permission`(_ answer: Answer) async throws
    {
        let bus = try await PrivateBus.started()
        let server = try await MockService(
            .notifications, on: bus, parameters: #"{"capabilities": "body body-markup actions"}"#)
        let service = try Service(environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address])
        let app = try AppFixture(service: service) { orders in
            var location = LocationOrder()
            location.asking = LocationOrder.Asking(at: .active)
            location.regions = [RegionOrder("home", 52.52, 13.405, radius: 200, at: .launched)]
            orders.location = location
        }
        try await service.start()
        // A location source is available.
        try await service.move(metres: 500)
        try await app.install("X-Nightshift-LocationReason=It greets you at the door.")
        try await app.launch()
        func questions() async throws -> Int {
            try await server.calls(of: "Notify").components(separatedBy: "Allow Probe to use your location?").count
                - 1
        }
        try await eventually("the question") { try await questions() == 1 }
        let shown = try await server.calls(of: "Notify")
        #expect(shown.contains("It says: It greets you at the door."), "\(shown)")
        #expect(shown.contains(#""choice-0" "Allow" "choice-1""#), "\(shown)")
        try await app.wait(for: .mayLocate)

        switch answer {
        case .allow:
            try await server.emit("ActionInvoked", "u 1", "s choice-0")
            try await app.wait(for: .mayLocate, count: 2)
            try await app.wait(for: .regionStarted)
        case .deny:
            try await server.emit("ActionInvoked", "u 1", "s choice-1")
            try await app.wait(for: .mayLocate, count: 2)
            #expect(try await app.wait(for: .regionFailed).code == 4)
        case .dismiss:
            try await server.emit("NotificationClosed", "u 1", "u 2")
            try await eventually("the end of the question") {
                let status: AppLocationStatus = try await service.api.get("/v1/location/\(app.app)")
                return !status.sentence.contains("being asked")
            }
        }
        let status: AppLocationStatus = try await service.api.get("/v1/location/\(app.app)")
        // The app asks whenever the user activates it.
        try await app.perform("background")
        try await app.waitUntilSuspended()
        try await app.perform("activate")
        try await app.wait(for: .active, count: 2)
        if answer == .dismiss {
            try await eventually("the question, once more") { try await questions() == 2 }
            #expect(status.permission == .ask && app.seen(.mayLocate).map(\.text) == ["notDetermined"])
        } else {
            let isAllowed = answer == .allow
            #expect(status.permission == (isAllowed ? .always : .denied))
            #expect(
                app.seen(.mayLocate).map(\.text) == ["notDetermined", isAllowed ? "authorizedAlways" : "denied"])
            #expect(try await questions() == 1, "his word stands")
        }
    }
}
