import Foundation
import NIOCore
import NIOWebSocket
import Synchronization

/// A WebSocket of a client: it answers the client's calls, and sends notifications.
struct WebSocketSession: Sendable {
    let dispatcher: CallDispatcher

    typealias Channel = NIOAsyncChannel<WebSocketFrame, WebSocketFrame>

    /// The maximum number of notifications that wait for a client. The connection of a client that does not read is
    /// closed.
    static let mostWaiting = 1_000

    /// Serves the client until one side closes the connection.
    func run(_ channel: Channel) async {
        let sender = Sender(channel.channel)
        let listener = await dispatcher.bridge.add { event, gid in
            sender.notify(JSONRPC.text(JSONRPC.notification(event, gid)))
        }
        // The connection is gone when reading throws.
        try? await channel.executeThenClose { inbound, _ in
            for try await frame in inbound {
                guard try await answer(frame, sender) else { break }
            }
        }
        await dispatcher.bridge.remove(listener: listener)
    }

    /// Answers a frame, and waits until the client can receive more.
    ///
    /// - Returns: whether the connection stays open.
    private func answer(_ frame: WebSocketFrame, _ sender: Sender) async throws -> Bool {
        let bytes = Data(frame.unmaskedData.readableBytesView)
        switch frame.opcode {
        case .text where String(validating: bytes, as: UTF8.self) == nil:
            try await sender.close(.dataInconsistentWithMessage)
            return false
        case .text, .binary:
            let endsProgram = Atomic(false)
            defer { if endsProgram.load(ordering: .relaxed) { dispatcher.bridge.end() } }
            // The channel writes frames in the order in which they are sent, so this answer comes before notifications.
            await dispatcher.answer(JSONRPC.message(bytes)) { response in
                endsProgram.store(response.endsProgram, ordering: .relaxed)
                sender.send(.text, response.body)
            }
            try await sender.waitUntilSent()
        case .ping:
            sender.send(.pong, bytes)
            try await sender.waitUntilSent()
        case .pong, .continuation: break
        case .connectionClose:
            sender.send(.connectionClose, bytes.prefix(2))
            try await sender.waitUntilSent()
            return false
        default:
            try await sender.close(.protocolError)
            return false
        }
        return true
    }
}

/// The sending side of a WebSocket.
private final class Sender: Sendable {
    private let channel: any NIOCore.Channel
    private let state = Mutex(State())

    private struct State: Sendable {
        /// The number of notifications that the kernel has not taken.
        var waiting = 0
        /// The last frame that is not a notification.
        var last: EventLoopFuture<Void>?
    }

    init(_ channel: any NIOCore.Channel) {
        self.channel = channel
    }

    /// Sends a notification, or closes the connection if too many wait.
    func notify(_ text: Data) {
        let isLate = state.withLock { state in
            state.waiting += 1
            return state.waiting > WebSocketSession.mostWaiting
        }
        guard !isLate else { return channel.close(promise: nil) }
        channel.writeAndFlush(Self.frame(.text, text)).whenComplete { [self] _ in state.withLock { $0.waiting -= 1 } }
    }

    func send(_ opcode: WebSocketOpcode, _ bytes: Data) {
        let sent = channel.writeAndFlush(Self.frame(opcode, bytes))
        state.withLock { $0.last = sent }
    }

    /// Waits until the kernel has taken the last frame that is not a notification.
    func waitUntilSent() async throws {
        try await state.withLock { $0.last }?.get()
    }

    func close(_ code: WebSocketErrorCode) async throws {
        var buffer = ByteBuffer()
        buffer.write(webSocketErrorCode: code)
        try await channel.writeAndFlush(WebSocketFrame(fin: true, opcode: .connectionClose, data: buffer)).get()
    }

    private static func frame(_ opcode: WebSocketOpcode, _ bytes: Data) -> WebSocketFrame {
        WebSocketFrame(fin: true, opcode: opcode, data: ByteBuffer(bytes: bytes))
    }
}
