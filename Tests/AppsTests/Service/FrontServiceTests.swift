import Apps
import Foundation
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing

/// Tests of the window with the focus in the service: states, use and the setting (decision 0038).
@Suite(.timeLimit(.minutes(20))) struct FrontServiceTests {
    private static let window = FrontApplication(applicationID: ServiceScene.app.rawValue)
    private static let other = FrontApplication(applicationID: "org.example.other")

    private func install(_ scene: ServiceScene, _ name: String, keys: String) throws {
        let entry = "[Desktop Entry]\nType=Application\nName=\(name)\nExec=/bin/true\n\(keys)\n"
        let path = scene.paths.applications.appending(path: "\(name).desktop")
        try entry.write(to: path, atomically: true, encoding: .utf8)
    }

    private func change(_ app: String, _ isInFront: Bool) -> FrontUse.Change {
        FrontUse.Change(app: AppID(rawValue: app), isInFront: isInFront)
    }

    @Test func `L8: A launched app enters and leaves the foreground with its window`() async throws {
        let scene = try await ServiceScene()
        _ = try await scene.service.launch(ServiceScene.app, LaunchRequest())
        await scene.service.front(Self.other)
        #expect(try await scene.status().state == .active, "its window is still to come")
        await scene.service.front(Self.window)
        #expect(await scene.service.frontApp == ServiceScene.app)
        #expect(try await scene.status().state == .active)
        await scene.service.front(nil)
        // The app does not link the library, so the service awaits no acknowledgement.
        #expect(try await scene.status().state != .active)
        await scene.service.front(Self.window)
        #expect(try await scene.status().state == .active)
        // The event follows the commit.
        try await scene.fronts.wait(for: "both events") { $0 == [ServiceScene.app, ServiceScene.app] }
        try await scene.end()
    }

    @Test func `L8: The setting turns the tracking of windows off, and on again with the current focus`() async throws {
        let scene = try await ServiceScene()
        var settings = DeviceSettings()
        settings.followsFront = false
        await scene.service.apply(settings)
        _ = try await scene.service.launch(ServiceScene.app, LaunchRequest())
        await scene.service.front(Self.window)
        await scene.service.front(nil)
        #expect(try await scene.status().state == .active)
        _ = try await scene.service.background(ServiceScene.app)
        await scene.service.front(Self.window)
        #expect(try await scene.status().state != .active)
        settings.followsFront = true
        await scene.service.apply(settings)
        #expect(try await scene.status().state == .active)
        try await scene.end()
    }

    @Test func `L8: The service finds the app of a window by its process or that process's parent`() async throws {
        let scene = try await ServiceScene()
        let process = try #require(try await scene.service.launch(ServiceScene.app, LaunchRequest()).processID)
        await scene.service.front(FrontApplication(windowClasses: ["x", "X"], processID: process))
        #expect(await scene.service.frontApp == ServiceScene.app)
        // A process that no app has started belongs to no app, and neither does an invalid pid.
        for pid in [getpid(), 1 << 29] {
            await scene.service.front(FrontApplication(windowClasses: ["x", "X"], processID: pid))
            #expect(await scene.service.frontApp == nil)
        }
        try await scene.end()
    }

    @Test func `L8: The service matches the next window with installed, changed and removed entries`() async throws {
        let scene = try await ServiceScene()
        let app = AppID(rawValue: "org.example.other")
        let window = FrontApplication(windowClasses: ["x", "Things"])
        await scene.service.front(window)
        #expect(await scene.service.frontApp == nil)
        try install(scene, app.rawValue, keys: "StartupWMClass=Things")
        await scene.service.front(window)
        #expect(await scene.service.frontApp == app)
        try install(scene, app.rawValue, keys: "StartupWMClass=Nothing")
        await scene.service.front(window)
        #expect(await scene.service.frontApp == nil)
        try FileManager.default.removeItem(at: scene.paths.applications.appending(path: "\(app.rawValue).desktop"))
        await scene.service.front(FrontApplication(windowClasses: ["x", "Nothing"]))
        #expect(await scene.service.frontApp == nil)
        try await scene.end()
    }

    @Test func `L8: The service reports the use of an app that has Nightshift's keys but was not launched`()
        async throws
    {
        let scene = try await ServiceScene()
        try install(scene, "org.example.other", keys: "X-Nightshift-BackgroundModes=fetch;")
        try install(scene, "org.example.else", keys: "")
        await scene.service.front(FrontApplication(applicationID: "org.example.else"))
        #expect(await scene.service.frontApp?.rawValue == "org.example.else")
        #expect(scene.uses.read(\.isEmpty), "it is nothing to us")
        await scene.service.front(Self.other)
        try await scene.uses.wait(for: "its use") { $0 == [change("org.example.other", true)] }
        var conditions = DeviceConditions()
        conditions.isIdle = true
        await scene.service.apply(DeviceState(conditions: conditions))
        try await scene.uses.wait(for: "its end") { $0.last == change("org.example.other", false) }
        await scene.service.apply(DeviceState())
        await scene.service.front(nil)
        let changes = [true, false, true, false].map { change("org.example.other", $0) }
        try await scene.uses.wait(for: "the second time") { $0 == changes }
        try await scene.end()
    }

    @Test func `L8: The service does not report a window's use that app states have already reported`() async throws {
        let scene = try await ServiceScene(keys: "X-Nightshift-BackgroundModes=fetch;")
        await scene.service.front(Self.window)
        try await scene.uses.wait(for: "its use") { $0 == [change(ServiceScene.app.rawValue, true)] }
        _ = try await scene.service.launch(ServiceScene.app, LaunchRequest())
        // The use that the window reported ends before the use that the states report begins.
        let told = [true, false, true].map { change(ServiceScene.app.rawValue, $0) }
        try await scene.uses.wait(for: "the word of its states") { $0 == told }
        await scene.service.front(Self.window)
        try await scene.end()
        #expect(scene.uses.read { $0.prefix(3) == told[...] && !$0.dropFirst(3).contains { $0.isInFront } })
    }
}
