import Apps
import Foundation
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing

/// Tests of notifications of apps in the foreground: the question to the process, and the effect of its answer.
@Suite(.timeLimit(.minutes(20))) struct PresentationServiceTests {
    private static let notification = {
        var notification = AppNotification(identifier: "n1", date: Date(timeIntervalSince1970: 1_800_000_000))
        notification.title = "Parcel"
        notification.userInfo = #"{"aps":{"alert":"Parcel"}}"#
        return notification
    }()

    /// Launches an app in the foreground that is connected.
    private func connected(_ scene: ServiceScene) async throws -> (Int32, CommandReader) {
        _ = try await scene.service.launch(ServiceScene.app, LaunchRequest())
        let process = try #require(scene.scripted?.living.first)
        let reader = try await connect(scene, process)
        try await scene.service.acknowledge(process: process, command: try await reader.command(.enter).number)
        return (process, reader)
    }

    private func connect(_ scene: ServiceScene, _ process: Int32) async throws -> CommandReader {
        CommandReader(try await scene.service.connect(process: process, executable: nil, app: ServiceScene.app))
    }

    private func asked(_ scene: ServiceScene) -> Task<PresentationAnswer, Never> {
        Task { [service = scene.service] in await service.present(ServiceScene.app, Self.notification) }
    }

    @Test(arguments: [
        (Int?.some(18), PresentationAnswer.options(18)), (0, .options(0)), (31, .options(31)), (nil, .asSent),
    ])
    func `R3: An app in the foreground decides how its notification is presented`(
        presentation: Int?, answer: PresentationAnswer
    ) async throws {
        let scene = try await ServiceScene()
        let (process, reader) = try await connected(scene)
        let asked = asked(scene)
        let command = try await reader.command(.present)
        #expect(command.key == "n1" && command.limit == 5 && command.state == nil)
        let payload = try #require(command.payload)
        #expect(try JSON.decode(AppNotification.self, from: payload) == Self.notification)
        for wrong in [-1, 32] {
            let problem = await #expect(throws: Problem.self) {
                try await scene.service.acknowledge(process: process, command: command.number, presentation: wrong)
            }
            #expect(problem?.type == "/problems/invalid")
        }
        try await scene.service.acknowledge(
            process: process, command: command.number, presentation: presentation)
        #expect(await asked.value == answer)
        // The app repeats its answer, as after a broken connection. No caller waits for this answer.
        try await scene.service.acknowledge(
            process: process, command: command.number, presentation: presentation)
        #expect(try await scene.status().state == .active)
        try await scene.end()
    }

    @Test func `R3: The service does not confuse answers for several notifications`() async throws {
        let scene = try await ServiceScene()
        let (process, reader) = try await connected(scene)
        let first = asked(scene)
        let number = try await reader.command(.present).number
        let second = asked(scene)
        try await reader.events.wait(for: "the second") { events in
            events.contains { if case .command(let command) = $0 { command.number > number } else { false } }
        }
        let other = try #require(reader.commands.last).number
        try await scene.service.acknowledge(process: process, command: other, presentation: 2)
        try await scene.service.acknowledge(process: process, command: number, presentation: 1)
        #expect(await first.value == .options(1))
        #expect(await second.value == .options(2))
        try await scene.end()
    }

    @Test func `R3: The service uses the default presentation if an app does not answer within 5 s`() async throws {
        let scene = try await ServiceScene()
        let (process, reader) = try await connected(scene)
        let asked = asked(scene)
        let command = try await reader.command(.present)
        try await eventually("the alarm") { scene.clock.nextWaking == 5_005 }
        scene.clock.advance(to: 5_005)
        #expect(await asked.value == .asSent)
        try await scene.service.acknowledge(process: process, command: command.number, presentation: 0)
        #expect(try await scene.status().state == .active)
        try await scene.end()
    }

    @Test func `R3: A question to an app ends at once if the process ends or closes its stream`() async throws {
        let scene = try await ServiceScene()
        let (process, reader) = try await connected(scene)
        let first = asked(scene)
        let number = try await reader.command(.present).number
        // The process opens a new stream and is not asked again.
        let again = try await connect(scene, process)
        #expect(await first.value == .asSent)
        let second = asked(scene)
        #expect(try await again.command(.present).number > number)
        scene.scripted?.end(process, .signalled(9))
        #expect(await second.value == .asSent)
        try await eventually("its end") { try await scene.status().state == .notRunning }
        #expect(await scene.service.present(ServiceScene.app, Self.notification) == .notInFront)
        try await scene.end()
    }

    @Test func `R3: A service that stops ends all questions to apps`() async throws {
        let scene = try await ServiceScene()
        let (_, reader) = try await connected(scene)
        let asked = asked(scene)
        _ = try await reader.command(.present)
        await scene.service.stop()
        #expect(await asked.value == .asSent)
        try await scene.end()
    }

    @Test func `R3: The service does not ask an app in the background about presentation`() async throws {
        let scene = try await ServiceScene()
        let (_, reader) = try await connected(scene)
        _ = try await scene.service.background(ServiceScene.app)
        #expect(await scene.service.present(ServiceScene.app, Self.notification) == .notInFront)
        #expect(!reader.commands.contains { $0.action == .present })
        #expect(await scene.service.present(AppID(rawValue: "org.example.none"), Self.notification) == .notInFront)
        try await scene.end()
    }

    @Test func `R3: The service does not ask a program that does not link the library`() async throws {
        let scene = try await ServiceScene(keys: "X-Nightshift-BackgroundModes=remote-notification;")
        #expect(await scene.service.present(ServiceScene.app, Self.notification) == .notInFront)
        // The user has started the app, which only its window shows.
        await scene.service.front(FrontApplication(applicationID: ServiceScene.app.rawValue))
        #expect(await scene.service.present(ServiceScene.app, Self.notification) == .asSent)
        await scene.service.front(nil)
        #expect(await scene.service.present(ServiceScene.app, Self.notification) == .notInFront)
        _ = try await scene.service.launch(ServiceScene.app, LaunchRequest())
        #expect(await scene.service.present(ServiceScene.app, Self.notification) == .asSent)
        try await scene.end()
    }
}
