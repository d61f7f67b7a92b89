import Crypto
import Foundation
import NIOCore
import PushProtocol
import Synchronization

/// A connection of one device: bytes in and out of its ``DeviceChannel``.
///
/// Belongs to its event loop.
final class LoadConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Asks an open connection for the token of a topic.
    struct Registration: Sendable {
        var topic: String
        var token: EventLoopPromise<String>
    }

    private var machine: DeviceChannel
    private let key: Curve25519.Signing.PrivateKey
    private let deliveries: Deliveries
    private let lost: @Sendable () -> Void
    private var outcome: EventLoopPromise<DeviceID?>?
    private var registration: Registration?
    private var context: ChannelHandlerContext?
    private var why: Refusal?
    /// Whether the gateway has let the device in.
    private var isOpen = false
    /// Whether its end is wanted here.
    var isCut = false

    /// - Parameters:
    ///   - outcome: is kept when the device is made, or connected.
    ///   - lost: called when a connection that was open has ended, and nobody here has cut it.
    init(
        _ purpose: DeviceChannel.Purpose, key: Curve25519.Signing.PrivateKey, deliveries: Deliveries,
        outcome: EventLoopPromise<DeviceID?>, lost: @escaping @Sendable () -> Void
    ) {
        // The longest that a gateway grants: they are to be idle.
        machine = DeviceChannel(purpose, keepAlive: UInt32(ProtocolLimits.keepAlive.upperBound), state: .active)
        self.key = key
        self.deliveries = deliveries
        self.outcome = outcome
        self.lost = lost
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        machine.opened()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        perform(machine.received(unwrapInboundIn(data).readableBytesView))
    }

    func channelInactive(context: ChannelHandlerContext) {
        machine.lost()
        self.context = nil
        if isOpen, !isCut { lost() }
        fail(why ?? Refusal(.trouble, "The connection ended."))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(error)
        context.close(promise: nil)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? Registration {
            registration = event
            perform(machine.register(event.topic, fresh: false))
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func perform(_ actions: [DeviceChannel.Action]) {
        for action in actions {
            switch action {
            case .send(let frame):
                guard let context else { break }
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: frame.encoded)), promise: nil)
            case .sign(let bytes):
                do {
                    perform(machine.signed(Array(try key.signature(for: bytes))))
                } catch {
                    fail(error)
                    context?.close(promise: nil)
                }
            case .enrolled(let device):
                succeed(device)
                context?.close(promise: nil)
            case .connected:
                isOpen = true
                succeed(nil)
            case .store(let message):
                deliveries.add(Date().timeIntervalSince1970 - Double(message.timestamp) / 1_000)
                perform(machine.stored(message.id))
            case .registered(_, let token):
                registration?.token.succeed(token)
                registration = nil
            case .refused(_, let refusal):
                registration?.token.fail(refusal)
                registration = nil
            case .keepAliveAnswered, .unregistered: break
            case .close(let refusal, _):
                why = refusal
                context?.close(promise: nil)
            }
        }
    }

    private func succeed(_ device: DeviceID?) {
        outcome?.succeed(device)
        outcome = nil
    }

    private func fail(_ error: any Error) {
        outcome?.fail(error)
        outcome = nil
        registration?.token.fail(error)
        registration = nil
    }
}
