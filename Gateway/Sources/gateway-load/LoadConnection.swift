import Crypto
import Foundation
import NIOCore
import PushProtocol
import Synchronization

/// A device's connection. It passes bytes between the network and its ``DeviceChannel``.
///
/// Confined to its event loop.
final class LoadConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// A request for a topic's token on an open connection.
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
    /// Whether the gateway has accepted the device.
    private var isOpen = false
    /// Whether this program is closing the connection.
    var isCut = false

    /// Creates the handler of a device's connection.
    ///
    /// - Parameters:
    ///   - outcome: succeeds when the device is enrolled or connected.
    ///   - lost: called when an open connection ends that this program did not close.
    init(
        _ purpose: DeviceChannel.Purpose, key: Curve25519.Signing.PrivateKey, deliveries: Deliveries,
        outcome: EventLoopPromise<DeviceID?>, lost: @escaping @Sendable () -> Void
    ) {
        // Request the longest interval that a gateway grants, so that devices stay idle.
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
