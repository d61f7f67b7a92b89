import Device
import Foundation
import NightshiftAPI
import Push
import PushProtocol
import SimulationSupport
import TestSupport
import Testing

/// B7: UnifiedPush in the service, with a gateway and a bus in memory.
@Suite struct UnifiedPushServiceTests {
    @Test func `B7: The service writes a message to disk, acknowledges the message, and calls its app`() async throws {
        let bus = ScriptedBus()
        let scene = try ServiceScene(bus: bus)
        scene.gateway.endpoints("https://push.example")
        try await scene.start()
        bus.say(.connected)
        _ = try await scene.service.enrol(PushEnrolmentRequest(url: ServiceScene.url, name: "test"))
        bus.say(.register(call: 1, Self.chat))
        try await bus.requests.wait(for: "the endpoint") { $0.contains { Self.isCall($0) } }
        let topic = try #require(scene.gateway.state.read { $0.registered.first })
        #expect(UnifiedPushTopic(topic) != nil)
        #expect(bus.requests.read { $0.contains(.answer(call: 1, .registered)) })
        let endpoint = try #require(bus.requests.read { $0.compactMap(Self.call).first })
        #expect(endpoint.call.content == .endpoint("https://push.example/up/aa\(topic.utf8.count)"))
        bus.say(.called(number: endpoint.number, .returned))
        try await scene.deliver([Self.message(1, topic), Self.message(2, topic)])
        try await bus.requests.wait(for: "the first message") { $0.compactMap(Self.call).count == 2 }
        var status = try await scene.service.status()
        #expect(
            status.unifiedPush?.map(\.waiting) == [2] && status.unifiedPush?.first?.app.rawValue == "org.example.Chat")
        #expect(try await scene.service.status(of: AppID(rawValue: "org.example.Chat")).unifiedPush?.count == 1)
        for number in 2...3 {
            let call = try #require(bus.requests.read { $0.compactMap(Self.call).last })
            #expect(
                call.call.content
                    == .message([UInt8(number - 1)], id: Self.message(UInt64(number - 1), topic).id.description))
            bus.say(.called(number: call.number, .returned))
            if number == 2 {
                try await bus.requests.wait(for: "the second message") { $0.compactMap(Self.call).count == 3 }
            }
        }
        try await eventually("nothing waits") {
            status = try await scene.service.status()
            return status.unifiedPush?.map(\.waiting) == [0]
        }
        bus.say(.unregister(call: 2, token: "secret"))
        try await scene.gateway.state.wait(for: "the gateway to be told") { $0.unregistered == [topic] }
        try await bus.requests.wait(for: "the app to be answered") { $0.contains(.answer(call: 2, .unregistered)) }
        await scene.end()
    }

    @Test func `B7: A registration without an enrolment fails, and its error names the command to run`() async throws {
        let bus = ScriptedBus()
        let scene = try ServiceScene(bus: bus)
        try await scene.start()
        bus.say(.connected)
        bus.say(.register(call: 1, Self.chat))
        try await bus.requests.wait(for: "an answer") { requests in
            requests.contains { request in
                if case .answer(1, .failed(.actionRequired, let sentence)) = request {
                    return sentence.contains("nightshift push enrol")
                }
                return false
            }
        }
        await scene.end()
    }

    @Test func `B7: The service neither acknowledges nor delivers messages while the disk is full`() async throws {
        let bus = ScriptedBus()
        let (scene, topic) = try await registered(on: bus)
        try await eventually("the app knows its endpoint") {
            let sentence = try await scene.service.status().unifiedPush?.first?.sentence
            return sentence == "Messages are delivered at once."
        }
        scene.gate.shut()
        scene.gateway.send(Self.message(1, topic))
        try await scene.gateway.state.wait(for: "the connection to be given up") {
            $0.connections.last?.isOpen == false
        }
        #expect(scene.gateway.state.read { $0.acknowledged.isEmpty })
        #expect(bus.requests.read { $0.compactMap(Self.call).count } == 1)
        scene.gate.open()
        await scene.end()
    }

    @Test func `B7: Apps receive messages only after they are on disk, even with concurrent steps`() async throws {
        let bus = ScriptedBus()
        let (scene, topic) = try await registered(on: bus)
        let hold = try await StoreHold(scene.store)
        scene.gateway.send(Self.message(1, topic))
        try await eventually("the message") { try await scene.service.status().unifiedPush?.map(\.waiting) == [1] }
        await scene.service.apply(DeviceState())
        #expect(bus.requests.read { $0.compactMap(Self.call).count } == 1)
        hold.release()
        try await bus.requests.wait(for: "the message") { $0.compactMap(Self.call).count == 2 }
        await scene.end()
    }

    /// Returns a service with an app that is registered and has its endpoint, together with the app's topic.
    private func registered(on bus: ScriptedBus) async throws -> (scene: ServiceScene, topic: String) {
        let scene = try ServiceScene(bus: bus)
        scene.gateway.endpoints("https://push.example")
        try await scene.start()
        bus.say(.connected)
        _ = try await scene.service.enrol(PushEnrolmentRequest(url: ServiceScene.url, name: "test"))
        bus.say(.register(call: 1, Self.chat))
        try await bus.requests.wait(for: "the endpoint") { $0.contains { Self.isCall($0) } }
        let endpoint = try #require(bus.requests.read { $0.compactMap(Self.call).first })
        bus.say(.called(number: endpoint.number, .returned))
        return (scene, try #require(scene.gateway.state.read { $0.registered.first }))
    }

    private static let chat = DistributorRegistration(
        service: "org.example.Chat", token: "secret", description: "", version: .two)

    private static func message(_ number: UInt64, _ topic: String) -> Message {
        Message(
            id: PushID(high: 3, low: number), topic: topic, timestamp: 0,
            expiry: Int64(saturating: StateScene.start + 86_400), priority: .considerate, type: .unifiedpush,
            collapseID: nil, isFromStorage: false, payload: [UInt8(number)])
    }

    private static func call(_ request: DistributorRequest) -> (number: UInt64, call: ConnectorCall)? {
        if case .call(let number, let call) = request { (number, call) } else { nil }
    }

    private static func isCall(_ request: DistributorRequest) -> Bool { call(request) != nil }
}

/// A session bus in memory, which acts as the test requires.
final class ScriptedBus: Sendable {
    let requests = Watched<[DistributorRequest]>([])
    private let events: AsyncStream<DistributorEvent>
    private let continuation: AsyncStream<DistributorEvent>.Continuation

    init() { (events, continuation) = AsyncStream.makeStream() }

    var distribution: PushService.Distribution {
        let (requests, continuation) = (requests, continuation)
        return PushService.Distribution(
            events: events, perform: { request in requests.update { $0.append(request) } },
            stop: { continuation.finish() })
    }

    func say(_ event: DistributorEvent) { continuation.yield(event) }
}
