import Device
import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of the foreground with a real compositor: sway with its headless backend, and windows of foot (decision 0038).
@Suite(.timeLimit(.minutes(20))) struct WaylandFocusTests {
    @Test func `L8: The monitor reports the app id of the foreground window at each change`() async throws {
        let sway = try await PrivateSway.started()
        let focus = WatchedFocus(sway.environment)
        try await focus.wait(source: .wlrForeignToplevel)
        try await focus.waitForNothing()
        try await sway.open("org.example.One")
        try await focus.wait(for: "the first window") { $0 == FrontApplication(applicationID: "org.example.One") }
        try await sway.open("org.example.Two")
        try await focus.wait(for: "the second window") { $0.applicationID == "org.example.Two" }
        try await sway.focus("org.example.One")
        try await focus.wait(for: "the first window again") { $0.applicationID == "org.example.One" }
        try await sway.close("org.example.One")
        try await focus.wait(for: "the one that is left") { $0.applicationID == "org.example.Two" }
        try await sway.close("org.example.Two")
        try await focus.waitForNothing()
        // The monitor reported only the windows, and no empty foreground between them.
        #expect(
            focus.told.read { $0.map { $0?.applicationID } }
                == [nil, "org.example.One", "org.example.Two", "org.example.One", "org.example.Two", nil])
    }

    @Test func `L8: The monitor finds existing windows, and reports none on an empty workspace`() async throws {
        let sway = try await PrivateSway.started()
        try await sway.open("org.example.One")
        let focus = WatchedFocus(sway.environment)
        try await focus.wait(for: "the window") { $0.applicationID == "org.example.One" }
        try await sway.message("workspace", "2")
        try await focus.waitForNothing()
        try await sway.message("workspace", "1")
        try await focus.wait(for: "the window") { $0.applicationID == "org.example.One" }
    }

    @Test func `L8: The monitor follows a compositor that starts later, ends and returns`() async throws {
        let sway = try PrivateSway()
        let focus = WatchedFocus(sway.environment)
        try await focus.wait(source: nil, detail: "No such file or directory")
        #expect(focus.told.read(\.isEmpty), "nobody has told anything")
        for _ in 1...2 {
            try await sway.start()
            try await sway.open("org.example.One")
            try await focus.wait(for: "its window") { $0.applicationID == "org.example.One" }
            sway.stop()
            try await focus.waitForNothing()
            try await focus.wait(source: nil)
        }
    }

    @Test func `L8: The monitor finds a display that the systemd user manager reports later`() async throws {
        let sway = try PrivateSway()
        let session = Watched<[String: String]?>(nil)
        let own = ["XDG_RUNTIME_DIR": sway.environment["XDG_RUNTIME_DIR"] ?? ""]
        let focus = WatchedFocus(own, session: { session.read { $0 } })
        try await focus.wait(source: nil, detail: "there is no display")
        // Desktops do this in the same order: first the socket, then the environment of the systemd user manager.
        try await sway.start()
        session.update { [environment = sway.environment] in $0 = environment }
        try await focus.wait(source: .wlrForeignToplevel)
    }

    @Test func `L8: A compositor that does not answer blocks no caller`() async throws {
        let sway = try await PrivateSway.started()
        sway.freeze(true)
        let focus = WatchedFocus(sway.environment)
        focus.monitor.shutdown()
        try await eventually("the end") { focus.told.read(\.isEmpty) }
        let other = WatchedFocus(sway.environment)
        sway.freeze(false)
        try await other.wait(source: .wlrForeignToplevel)
        // A compositor that stops for a while counts as late rather than ended.
        sway.freeze(true)
        sway.freeze(false)
        try await sway.open("org.example.One")
        try await other.wait(for: "the window") { $0.applicationID == "org.example.One" }
    }
}
