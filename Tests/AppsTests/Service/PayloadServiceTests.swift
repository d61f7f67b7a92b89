import Apps
import Foundation
import Glibc
import NightshiftAPI
import SimulationSupport
import Store
import TestSupport
import Testing

/// Tests of the file from which a program reads the payloads of its wakes.
@Suite(.timeLimit(.minutes(20))) struct PayloadServiceTests {
    private static let modes = "X-Nightshift-BackgroundModes=fetch;remote-notification;"
    private static let home = #"{"kind":"enter","region":"home"}"#
    private static let moved = #"{"kind":"significantChange"}"#

    /// Writes wakes in one transaction, so that they share one launch.
    private func put(_ scene: ServiceScene, _ wakes: [(source: WakeSource, key: String, payload: String?)]) async throws
    {
        let now = scene.clock.now()
        try await scene.store.write { transaction in
            for wake in wakes {
                try transaction.putWake(
                    ServiceScene.app, wake.source, key: wake.key, payload: wake.payload.map { Data($0.utf8) }, now: now)
            }
        }
    }

    private func launched(_ scene: ServiceScene) async throws -> (process: Int32, plan: LaunchPlan) {
        let host = try #require(scene.scripted)
        try await eventually("the launch") { !host.living.isEmpty }
        let process = try #require(host.living.first)
        return (process, try #require(host.plan(process)))
    }

    private func content(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    private func folder(_ path: String) -> String {
        URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
    }

    private func mode(_ path: String) -> mode_t {
        var information = stat()
        return stat(path, &information) == 0 ? information.st_mode & 0o7777 : 0
    }

    @Test func `R3 R6: A program gets its payloads only through a private file`() async throws {
        let scene = try await ServiceScene(keys: Self.modes)
        try await put(
            scene,
            [(.region, "home", Self.home), (.fetch, "", #"{"task":1}"#), (.significantChange, "", Self.moved)])
        let (process, plan) = try await launched(scene)
        #expect(plan.environment["NIGHTSHIFT_WAKE"] == "fetch,region,significantChange")
        #expect(plan.environment["NIGHTSHIFT_TASK"] == nil)
        let path = try #require(plan.environment["NIGHTSHIFT_PAYLOAD"])
        #expect(path.hasPrefix(scene.paths.runtime.path(percentEncoded: false)))
        #expect(content(path) == "[\(Self.home),\(Self.moved)]\n")
        #expect(mode(path) == 0o600 && mode(folder(path)) == 0o700)
        let said = Array(plan.environment.values) + plan.arguments + [plan.program]
        #expect(!said.contains { $0.contains("home") && $0.contains("enter") })
        scene.scripted?.end(process, .exited(0))
        try await eventually("the file to be gone") { content(path) == nil }
        try await scene.end()
    }

    @Test func `R3: The payload file also contains pushes and responses`() async throws {
        let scene = try await ServiceScene(keys: Self.modes)
        try await put(scene, [(.push, "", #"{"id":"1"}"#), (.response, "n1", #"{"action":"later"}"#)])
        let (process, plan) = try await launched(scene)
        #expect(plan.environment["NIGHTSHIFT_WAKE"] == "push,response" && plan.environment["NIGHTSHIFT_TASK"] == nil)
        let path = try #require(plan.environment["NIGHTSHIFT_PAYLOAD"])
        #expect(content(path) == #"[{"id":"1"},{"action":"later"}]"# + "\n")
        scene.scripted?.end(process, .signalled(11))
        try await eventually("the file to be gone") { content(path) == nil }
        try await scene.end()
    }

    @Test func `R3: A program gets every waiting push, and later ones at its next start`()
        async throws
    {
        let scene = try await ServiceScene(keys: Self.modes)
        try await put(scene, [(.push, "1", #"{"id":"1"}"#), (.push, "2", #"{"id":"2"}"#), (.push, "", #"{"id":"s"}"#)])
        let (process, plan) = try await launched(scene)
        let path = try #require(plan.environment["NIGHTSHIFT_PAYLOAD"])
        #expect(content(path) == #"[{"id":"1"},{"id":"2"},{"id":"s"}]"# + "\n")
        try await put(scene, [(.push, "3", #"{"id":"3"}"#), (.push, "4", #"{"id":"4"}"#)])
        scene.scripted?.end(process, .exited(0))
        try await eventually("the next launch") { scene.scripted?.living.contains { $0 != process } == true }
        let next = try await launched(scene)
        let file = try #require(next.plan.environment["NIGHTSHIFT_PAYLOAD"])
        #expect(content(file) == #"[{"id":"3"},{"id":"4"}]"# + "\n")
        scene.scripted?.end(next.process, .exited(0))
        try await scene.end()
    }

    @Test func `R6: The service deletes the payload file when the wake is completed`() async throws {
        let scene = try await ServiceScene()
        try await put(scene, [(.region, "home", Self.home), (.region, "work", Self.moved)])
        let (process, plan) = try await launched(scene)
        let path = try #require(plan.environment["NIGHTSHIFT_PAYLOAD"])
        let reader = CommandReader(
            try await scene.service.connect(process: process, executable: nil, app: ServiceScene.app))
        try await reader.events.wait(for: "both") { events in
            events.count { if case .command(let command) = $0 { command.action == .handleWake } else { false } } == 2
        }
        let commands = reader.commands.filter { $0.action == .handleWake }
        try await scene.service.acknowledge(process: process, command: commands[0].number)
        #expect(content(path) != nil)
        try await scene.service.acknowledge(process: process, command: commands[1].number)
        #expect(content(path) == nil)
        #expect(scene.scripted?.living == [process])
        try await scene.end()
    }

    @Test func `R6: A restarted program gets the payloads of its new start`() async throws {
        let scene = try await ServiceScene()
        try await put(scene, [(.region, "home", Self.home)])
        let (process, _) = try await launched(scene)
        try await put(scene, [(.region, "work", Self.moved)])
        scene.scripted?.end(process, .exited(1))
        try await eventually("its end") { try await scene.status().lastExit != nil }
        let host = try #require(scene.scripted)
        try await eventually("the alarm") { scene.clock.nextWaking != nil }
        try await scene.pass(2, until: "the next launch") { !host.living.isEmpty }
        let plan = try await launched(scene).plan
        #expect(plan.environment["NIGHTSHIFT_PAYLOAD"].flatMap(content) == "[\(Self.home),\(Self.moved)]\n")
        try await scene.end()
    }

    @Test func `R6: The service writes no payload file without a payload`() async throws {
        let scene = try await ServiceScene(keys: Self.modes)
        try await put(scene, [(.fetch, "", #"{"task":1}"#), (.region, "home", nil)])
        let (process, plan) = try await launched(scene)
        #expect(plan.environment["NIGHTSHIFT_PAYLOAD"] == nil)
        scene.scripted?.end(process, .exited(0))
        try await scene.end()
    }

    @Test func `R6: A launch fails, but keeps its wake, if the payload file cannot be written`() async throws {
        let scene = try await ServiceScene()
        let folder = scene.paths.runtime.appending(path: "payloads").path(percentEncoded: false)
        try "in its place".write(toFile: folder, atomically: true, encoding: .utf8)
        try await put(scene, [(.region, "home", Self.home)])
        try await eventually("the failure") { try await scene.status().lastExit?.cause == .launchFailed }
        #expect(scene.scripted?.launches.isEmpty == true)
        #expect(try await scene.store.read { try $0.wantedWakes() }.map(\.key) == ["home"])
        try await scene.end()
    }

    @Test func `R6: The next service keeps only the payload files of running programs`() async throws {
        let first = try await ServiceScene()
        try await put(first, [(.region, "home", Self.home)])
        let (process, plan) = try await launched(first)
        let path = try #require(plan.environment["NIGHTSHIFT_PAYLOAD"])
        try await eventually("the record") {
            try await first.store.read { try $0.app(ServiceScene.app) }?.process != nil
        }
        let stale = folder(path) + "org.example.gone"
        try "[]".write(toFile: stale, atomically: true, encoding: .utf8)
        try await first.crash()
        let next = try await ServiceScene(after: first)
        #expect(content(path) == "[\(Self.home)]\n" && content(stale) == nil)
        next.scripted?.end(process, .exited(0))
        try await eventually("the file to be gone") { content(path) == nil }
        try await next.end()
    }

    @Test func `R6: Sleep during the service's start does not launch a running program a second time`()
        async throws
    {
        let first = try await ServiceScene()
        try await put(first, [(.region, "home", Self.home)])
        let (process, _) = try await launched(first)
        try await eventually("the record") {
            try await first.store.read { try $0.app(ServiceScene.app) }?.process != nil
        }
        try await first.crash()
        var conditions = DeviceConditions()
        conditions.sleeps = 1
        let next = try await ServiceScene(moment: DeviceState(conditions: conditions), after: first)
        try await eventually("its being taken up") {
            try await next.history().contains { $0.decision == .appAdopted }
        }
        #expect(next.scripted?.launches.count == 1)
        next.scripted?.end(process, .exited(0))
        try await eventually("the end of the wake") {
            try await next.store.read { try $0.wantedWakes() }.isEmpty
        }
        try await next.end()
    }

    @Test func `R3: A program that the user brings to the foreground reads the responses`() async throws {
        let scene = try await ServiceScene()
        let notification = AppNotification(identifier: "n", date: Date(timeIntervalSince1970: 1_800_000_000))
        let response = NotificationResponse(notification: notification, action: NotificationResponse.opened)
        let payload = String(decoding: try JSON.encode(response), as: UTF8.self)
        try await put(scene, [(.response, "n", payload)])
        _ = try await scene.service.activate(ServiceScene.app)
        let plan = try await launched(scene).plan
        #expect(scene.scripted?.launches.count == 1)
        #expect(
            plan.environment["NIGHTSHIFT_LAUNCH"] == "foreground" && plan.environment["NIGHTSHIFT_WAKE"] == "response")
        #expect(plan.environment["NIGHTSHIFT_WAKE_LIMIT"] == nil)
        let path = try #require(plan.environment["NIGHTSHIFT_PAYLOAD"])
        #expect(content(path) == "[\(payload)]\n")
        _ = try await scene.service.background(ServiceScene.app)
        #expect(content(path) == nil)
        try await eventually("the row to be gone") { try await scene.store.read { try $0.wantedWakes() }.isEmpty }
        try await scene.end()
    }
}
