import Device
import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

/// Tests of the foreground with a real X server: Xvfb with openbox, and windows of xterm (decision 0038).
@Suite(.timeLimit(.minutes(20))) struct X11FocusTests {
    @Test func `L8: The monitor reports the classes and the process of the active window`() async throws {
        let server = try await PrivateXServer.started()
        try await server.startWindowManager()
        let focus = WatchedFocus(server.environment)
        try await focus.wait(source: .x11)
        try await focus.waitForNothing()
        let one = try await server.open("One")
        try await focus.wait(for: "the first window") {
            $0 == FrontApplication(windowClasses: ["one", "One"], processID: one.process.pid)
        }
        let two = try await server.open("Two")
        try await focus.wait(for: "the second window") {
            $0.windowClasses == ["two", "Two"] && $0.processID == two.process.pid
        }
        try await server.activate(one)
        try await focus.wait(for: "the first window again") { $0.windowClasses == ["one", "One"] }
        one.process.kill()
        try await focus.wait(for: "the one that is left") { $0.windowClasses == ["two", "Two"] }
        two.process.kill()
        try await focus.waitForNothing()
    }

    @Test func `L8: The monitor reports an application's id, but not a process of another machine`() async throws {
        let server = try await PrivateXServer.started()
        try await server.startWindowManager()
        let focus = WatchedFocus(server.environment)
        let one = try await server.open("One")
        _ = try await server.open("Two")
        try await focus.wait(for: "the second window") { $0.windowClasses == ["two", "Two"] }
        try await server.set("_GTK_APPLICATION_ID", of: one, to: "org.example.One")
        try await server.set("WM_CLIENT_MACHINE", of: one, to: "elsewhere.example.org")
        try await server.activate(one)
        try await focus.wait(for: "the first window") {
            $0 == FrontApplication(applicationID: "org.example.One", windowClasses: ["one", "One"])
        }
    }

    @Test func `L8: The monitor uses only a window manager as its source, even one that starts later`() async throws {
        let server = try await PrivateXServer.started()
        let focus = WatchedFocus(server.environment)
        try await focus.wait(source: nil, detail: "no window manager")
        try await server.startWindowManager()
        try await focus.wait(source: .x11)
        _ = try await server.open("One")
        try await focus.wait(for: "the window") { $0.windowClasses == ["one", "One"] }
    }

    @Test(arguments: [SIGTERM, SIGKILL])
    func `L8: A window manager that ends leaves the foreground unchanged`(signal: Int32) async throws {
        let server = try await PrivateXServer.started()
        let manager = try await server.startWindowManager()
        let focus = WatchedFocus(server.environment)
        _ = try await server.open("One")
        try await focus.wait(for: "the window") { $0.windowClasses == ["one", "One"] }
        manager.stop(signal)
        try await focus.wait(source: nil, detail: "no window manager")
        #expect(focus.told.read { $0.last??.windowClasses } == ["one", "One"])
        try await server.startWindowManager()
        try await focus.wait(source: .x11)
        _ = try await server.open("Two")
        try await focus.wait(for: "the other window") { $0.windowClasses == ["two", "Two"] }
    }

    @Test func `L8: The monitor follows a server that ends and returns, but not one that refuses access`() async throws
    {
        let server = try await PrivateXServer.started()
        try await server.startWindowManager()
        _ = try await server.open("One")
        var environment = server.environment
        environment["XAUTHORITY"] = "/dev/null"
        let refused = WatchedFocus(environment)
        let focus = WatchedFocus(server.environment)
        try await focus.wait(for: "the window") { $0.windowClasses == ["one", "One"] }
        try await refused.wait(source: nil, detail: "cannot be reached")
        server.stop()
        try await focus.waitForNothing()
        try await focus.wait(source: nil, detail: "cannot be reached")
        try await server.start()
        try await server.startWindowManager()
        _ = try await server.open("Two")
        try await focus.wait(for: "the window") { $0.windowClasses == ["two", "Two"] }
        #expect(refused.told.read(\.isEmpty))
    }
}
