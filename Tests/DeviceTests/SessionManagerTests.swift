import Device
import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

/// Tests of the environment of the systemd user manager (decision 0023).
@Suite(.timeLimit(.minutes(20))) struct SessionManagerTests {
    private func manager(_ bus: PrivateBus) -> SessionManager {
        SessionManager(environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address])
    }

    @Test func `L1: The service reads the current environment of the systemd user manager`() async throws {
        let bus = try await PrivateBus.started()
        let mock = try MockSessionManager(
            on: bus, environment: ["LANG=de_DE.UTF-8", "EMPTY=", "WITH=a=b", "nothing", "DISPLAY=:0"])
        defer { withExtendedLifetime(mock) {} }
        try await eventually("its answer") { manager(bus).environment() != nil }
        #expect(
            manager(bus).environment() == ["LANG": "de_DE.UTF-8", "EMPTY": "", "WITH": "a=b", "DISPLAY": ":0"])
        let path = bus.address.dropFirst("unix:path=".count)
        let folder = try TemporaryDirectory()
        try FileManager.default.createSymbolicLink(atPath: folder.path("bus"), withDestinationPath: String(path))
        #expect(SessionManager(environment: ["XDG_RUNTIME_DIR": folder.path]).environment()?["DISPLAY"] == ":0")
    }

    @Test func `L1: Reading the environment of a missing user manager returns nil and starts no user manager`()
        async throws
    {
        let bus = try PrivateBus(activatable: ["org.freedesktop.systemd1"])
        #expect(manager(bus).environment() == nil, "no bus")
        try await bus.start()
        #expect(manager(bus).environment() == nil, "no systemd")
        #expect(!FileManager.default.fileExists(atPath: bus.activations))
        #expect(SessionManager(environment: [:]).environment() == nil)
        #expect(SessionManager(environment: ["DBUS_SESSION_BUS_ADDRESS": "autolaunch:"]).environment() == nil)
        #expect(SessionManager(environment: ["XDG_RUNTIME_DIR": "/nonexistent"]).environment() == nil)
    }

    @Test func `L1: A bus that does not answer delays the caller only briefly`() async throws {
        let bus = try await PrivateBus.started()
        bus.freeze(true)
        #expect(manager(bus).environment() == nil)
        bus.freeze(false)
    }
}
