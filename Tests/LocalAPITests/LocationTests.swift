import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import LocalAPI

/// Tests of regions and significant changes with real services.
@Suite struct LocationTests {
    private let path = "/v1/location/org.example.Arrivals"
    private let own = "/v1/process/location"

    private func install(_ server: TestServer, _ test: TestService) async throws {
        let entry = try test.directory.write(
            """
            [Desktop Entry]
            Type=Application
            Name=Arrivals
            Exec=sleep 60
            X-Nightshift-BackgroundModes=location;
            X-Nightshift-LocationReason=To say when you are home.

            """, to: "org.example.Arrivals.desktop")
        let answer = try await server.request("POST", "/v1/apps", body: "{\"entry\":\"\(entry)\"}")
        #expect(answer.status == 200, "\(answer.text)")
    }

    private static func region(
        _ identifier: String, latitude: String = "52.5163", radius: String = "150"
    ) -> String {
        "{\"identifier\":\"\(identifier)\",\"center\":{\"latitude\":\(latitude),\"longitude\":13.3777},"
            + "\"radius\":\(radius),\"notifiesOnEntry\":true,\"notifiesOnExit\":false}"
    }

    private func status(_ server: TestServer) async throws -> AppLocationStatus {
        try await server.request("GET", path).decode(AppLocationStatus.self)
    }

    /// Opens a command stream of this process as the app's process.
    private func connect(_ server: TestServer, app: String) async throws -> UnixClient {
        let client = try server.client()
        try await client.send(UnixClient.head("GET", "/v1/process/commands?app=\(app)"))
        _ = try await client.receive(through: "event: hello\n")
        return client
    }

    @Test func `R6: The API adds, replaces, shows and removes a region of an app`() async throws {
        try await withAPI { server, test in
            try await install(server, test)
            let added = try await server.request("PUT", path + "/regions/home", body: Self.region("home"))
            #expect(added.status == 200, "\(added.text)")
            let first = try added.decode(AppLocationStatus.self)
            #expect(first.regions.map(\.region.identifier) == ["home"] && first.permission == .ask)
            #expect(first.reason == "To say when you are home." && !first.sentence.isEmpty)
            let again = try await server.request(
                "PUT", path + "/regions/home", body: Self.region("home", radius: "300"))
            #expect(try again.decode(AppLocationStatus.self).regions.map(\.region.radius) == [300])
            let odd = try await server.request("PUT", path + "/regions/a%2Fb%20c", body: Self.region("a/b c"))
            #expect(try odd.decode(AppLocationStatus.self).regions.map(\.region.identifier) == ["a/b c", "home"])
            #expect(try await server.request("DELETE", path + "/regions/a%2Fb%20c").status == 204)
            #expect(try await server.request("DELETE", path + "/regions/none").problem.status == 404)
            let all = try await server.request("GET", "/v1/location").decode(LocationStatus.self)
            #expect(all.apps.map(\.app.rawValue) == ["org.example.Arrivals"] && all.apps[0].regions.count == 1)
            #expect(all.nextFix == nil)
            let journal = try await server.request("GET", "/v1/journal?limit=1000").decode(JournalPage.self)
            let told = journal.entries.filter { [.regionAdded, .regionRemoved].contains($0.decision) }
            #expect(told.map(\.detail) == ["home", "home", "a/b c", "a/b c"])
        }
    }

    @Test func `R7: The API shows the location permission, and notifies an app of changes`() async throws {
        try await withAPI { server, test in
            try await install(server, test)
            let client = try await connect(server, app: "org.example.Arrivals")
            for word in ["always", "denied", "whenInUse", "ask"] {
                let body = "{\"permission\":\"\(word)\"}"
                let changed = try await server.request("PATCH", path, body: body).decode(AppLocationStatus.self)
                #expect(changed.permission.rawValue == word)
                #expect(try await status(server).permission.rawValue == word)
                let text = try await client.receive(through: "{\"permission\":\"\(word)\"}\n\n")
                #expect(text.contains("event: location\n"))
            }
            let journal = try await server.request("GET", "/v1/journal?limit=1000").decode(JournalPage.self)
            let words = journal.entries.filter { $0.decision == .locationPermission }.map(\.detail)
            #expect(words == ["always", "denied", "whenInUse", "ask"])
        }
    }

    @Test func `R6: A process can monitor regions and significant changes, and read its permission`() async throws {
        try await withAPI { server, test in
            try await install(server, test)
            let client = try await connect(server, app: "org.example.Arrivals")
            defer { withExtendedLifetime(client) {} }
            let empty = try await server.request("GET", own).decode(ProcessLocation.self)
            #expect(empty == ProcessLocation(permission: .ask))
            let added = try await server.request("PUT", own + "/regions/home", body: Self.region("home"))
                .decode(ProcessLocation.self)
            #expect(added.regions.map(\.region.identifier) == ["home"] && added.regions[0].state == .unknown)
            let changes = try await server.request("PUT", own + "/significant-changes").decode(ProcessLocation.self)
            #expect(changes.monitorsSignificantChanges)
            let asked = try await server.request("POST", own + "/authorization", body: #"{"permission":"always"}"#)
            // No notification server is running to ask the user.
            #expect(try asked.decode(ProcessLocation.self).permission == .ask)
            let shown = try await status(server)
            #expect(shown.monitorsSignificantChanges && shown.regions.count == 1)
            #expect(try await server.request("DELETE", own + "/significant-changes").status == 204)
            #expect(try await server.request("DELETE", own + "/regions/home").status == 204)
            // Removing a region that is not monitored is not an error.
            #expect(try await server.request("DELETE", own + "/regions/home").status == 204)
            let last = try await server.request("GET", own).decode(ProcessLocation.self)
            #expect(last.regions.isEmpty && !last.monitorsSignificantChanges && last.place == nil)
        }
    }

    @Test func `R6: A process gets locations while it reads the stream, and appears in the status`() async throws {
        try await withAPI { server, test in
            try await install(server, test)
            let client = try await connect(server, app: "org.example.Arrivals")
            defer { withExtendedLifetime(client) {} }
            _ = try await server.request("PATCH", path, body: #"{"permission":"whenInUse"}"#)
            do {
                let stream = try server.client()
                try await stream.send(UnixClient.head("GET", own + "/updates?accuracy=2.0e1&distance=5.5"))
                _ = try await stream.receive(through: ": connected\n\n")
                let updates = try await status(server).updates
                #expect(updates?.accuracy == 20 && updates?.isOn == true)
                // The sources of this test report no location.
                _ = try await server.request("PATCH", path, body: #"{"permission":"denied"}"#)
                let text = try await stream.receive(through: "\"denied\"}\n\n")
                #expect(text.contains("event: update\ndata: {\"failure\":\"denied\"}"))
                #expect(try await status(server).updates?.isOn == false)
            }
            try await eventually("the end of the request") { try await status(server).updates == nil }
            let once = try server.client()
            try await once.send(UnixClient.head("GET", own + "/updates?once=true&distance=3e-256"))
            let text = String(decoding: try await once.receiveAll(), as: UTF8.self)
            #expect(text.contains("data: {\"failure\":\"denied\"}"), "\(text)")
        }
    }

    @Test(arguments: [
        "accuracy=-1", "accuracy=1e9", "distance=nan", "distance=0x10", "accuracy=20000001", "once=maybe", "often=true",
    ])
    func `R6: The API refuses an invalid request for location updates with a problem`(query: String) async throws {
        try await withAPI { server, test in
            try await install(server, test)
            let client = try await connect(server, app: "org.example.Arrivals")
            defer { withExtendedLifetime(client) {} }
            #expect(try await server.request("GET", own + "/updates?" + query).problem.status == 400)
            #expect(try await status(server).updates == nil)
        }
    }

    @Test func `R6: The API refuses a region beyond the limit`() async throws {
        try await withAPI { server, test in
            try await install(server, test)
            for number in 1...Limits.regions {
                let body = Self.region("r\(number)")
                #expect(try await server.request("PUT", path + "/regions/r\(number)", body: body).status == 200)
            }
            let more = try await server.request("PUT", path + "/regions/more", body: Self.region("more")).problem
            #expect(more.type == "/problems/too-many-regions" && more.status == 409)
            let same = try await server.request("PUT", path + "/regions/r1", body: Self.region("r1", radius: "9"))
            #expect(same.status == 200)
        }
    }

    @Test func `R6: The API refuses a process without a desktop entry or a connection`() async throws {
        try await withAPI { server, _ in
            #expect(try await server.request("GET", own).problem.type == "/problems/not-connected")
            let client = try server.client()
            try await client.send(UnixClient.head("GET", "/v1/process/commands?executable=%2Fbin%2Ftrue"))
            _ = try await client.receive(through: "event: hello\n")
            defer { withExtendedLifetime(client) {} }
            #expect(try await server.request("GET", own).problem.status == 403)
            #expect(try await server.request("GET", own + "/updates").problem.status == 403)
        }
    }

    @Test(
        arguments: [
            ("GET", "", nil), ("PATCH", "", "{\"permission\":\"always\"}"),
            ("PUT", "/regions/home", region("home")), ("DELETE", "/regions/home", nil),
        ] as [(String, String, String?)])
    func `R6: The API answers 404 to location requests for an unknown app`(method: String, rest: String, body: String?)
        async throws
    {
        try await withAPI { server, _ in
            for id in ["org.example.None", "%2Fusr%2Fbin%2Fnone", "a%2F..%2Fb"] {
                let answer = try await server.request(method, "/v1/location/\(id)\(rest)", body: body)
                #expect(try answer.problem.status == 404, "\(id): \(answer.text)")
            }
        }
    }

    @Test(
        arguments: [
            ("PATCH", "", "{\"permission\":\"sometimes\"}", 400), ("PATCH", "", "{\"allowed\":true}", 400),
            ("PUT", "/regions/a", region("b"), 422), ("PUT", "/regions/a", region("a", radius: "10000001"), 422),
            ("PUT", "/regions/a", region("a", radius: "-1"), 422),
            ("PUT", "/regions/a", region("a", radius: "1e999"), 400),
            ("PUT", "/regions/a", region("a", latitude: "90.5"), 400),
            ("PUT", "/regions/a", "{\"identifier\":\"a\"}", 400),
            (
                "PUT", "/regions/" + String(repeating: "a", count: 257),
                region(String(repeating: "a", count: 257)), 422
            ),
            ("GET", "?app=a", nil, 400),
        ] as [(String, String, String?, Int)])
    func `R6: The API refuses an invalid location request with a problem`(
        method: String, rest: String, body: String?, status: Int
    ) async throws {
        try await withAPI { server, test in
            try await install(server, test)
            let answer = try await server.request(method, path + rest, body: body)
            #expect(try answer.problem.status == status, "\(answer.text)")
            #expect(try await self.status(server).regions.isEmpty)
        }
    }
}
