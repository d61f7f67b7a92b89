import Logging
import PushGateway
import PushProtocol
import PushStore
import Synchronization
import Testing

@Suite struct SwitchboardTests {
    private final class Link: DeviceLink {
        let closed = Mutex<[Refusal]>([])

        func send(_ message: Message) {}
        func answerKeepAlive() {}
        func wake(at: Int64) {}
        func close(_ refusal: Refusal) { closed.withLock { $0.append(refusal) } }
    }

    private final class Answers: Sendable {
        let list = Mutex<[Result<Bool, StoreError>]>([])
    }

    private static let settings = GatewaySettings(state: "", socket: "", certificate: "", privateKey: "")

    private static func switchboard(_ settings: GatewaySettings = Self.settings) throws -> Switchboard {
        Switchboard(
            store: try PushStore(inMemory: ()), settings: settings, metrics: Metrics(), growth: LogSignal(),
            logger: Logger(label: "test"))
    }

    @Test func `R5: The gateway refuses to delete a message while too many operations wait for the disk`() throws {
        var settings = Self.settings
        settings.commitDepth = 0
        let answers = Answers()
        try Self.switchboard(settings).withdraw(
            PushID(high: 1, low: 1), topic: "unifiedpush:", device: DeviceID(high: 1, low: 1)
        ) { result in answers.list.withLock { $0.append(result) } }
        #expect(answers.list.withLock { $0.map { try? $0.get() } } == [nil])
    }

    @Test func `R5: A device that is revoked during the check of its signature is not connected`() throws {
        let switchboard = try Self.switchboard()
        let (gone, stays) = (DeviceID(high: 1, low: 1), DeviceID(high: 1, low: 2))
        let (early, late, other) = (Link(), Link(), Link())
        _ = switchboard.connected(gone, .active, [], link: early)
        switchboard.revoked(gone)
        #expect(early.closed.withLock { $0.map(\.code) } == [.notAuthenticated])
        let number = switchboard.connected(gone, .active, [], link: late)
        #expect(late.closed.withLock { $0.map(\.code) } == [.notAuthenticated])
        switchboard.disconnected(gone, connection: number)
        _ = switchboard.connected(stays, .active, [], link: other)
        #expect(other.closed.withLock { $0 } == [])
    }
}
