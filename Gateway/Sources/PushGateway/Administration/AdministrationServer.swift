import Foundation
import Glibc
import NIOCore
import NIOPosix

/// A server that accepts operators' connections on a Unix socket, in a folder to which only the gateway's user has
/// access.
enum AdministrationServer {
    static func listen(_ gateway: Gateway, group: any EventLoopGroup) async throws -> any Channel {
        let path = gateway.settings.socket
        let folder = (path as NSString).deletingLastPathComponent
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AdministrationHandler(gateway: gateway))
                }
            }
            .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
    }

    /// Returns whether a process of this user may administer the gateway. It must belong to the gateway's own user or
    /// to root.
    static func isAllowed(_ user: uid_t) -> Bool {
        user == geteuid() || user == 0
    }
}

/// An operator's connection, which receives one line and answers with one or more lines.
private final class AdministrationHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The maximum size of a request in bytes. A key in PEM format has a few hundred.
    private static let requestLimit = 65_536

    private let gateway: Gateway
    private var request = ByteBuffer()
    private var answering: Task<Void, Never>?

    init(gateway: Gateway) {
        self.gateway = gateway
    }

    func channelInactive(context: ChannelHandlerContext) {
        answering?.cancel()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var piece = unwrapInboundIn(data)
        guard answering == nil else { return }
        request.writeBuffer(&piece)
        guard request.readableBytes <= Self.requestLimit else { return context.close(promise: nil) }
        guard let end = request.readableBytesView.firstIndex(of: 0x0A) else { return }
        let line = Data(request.readableBytesView[..<end])
        let exchange = AdministrationExchange(gateway: gateway, channel: context.channel, line: line)
        // The task ends when the answer is complete, or when the connection ends.
        answering = Task { await exchange.run() }
    }
}

/// An operator's request and its answer.
private struct AdministrationExchange: Sendable {
    let gateway: Gateway
    let channel: any Channel
    let line: Data

    func run() async {
        if await isAllowed() {
            await answer()
        } else {
            _ = await write(.failed(AdministrationClient.noPermission(gateway.settings.socket)))
        }
        try? await channel.close()
    }

    /// The kernel's `struct ucred`, which the Glibc module declares only for GNU sources.
    private struct Credentials {
        var process: pid_t
        var user: uid_t
        var group: gid_t
    }

    private func isAllowed() async -> Bool {
        guard let provider = channel as? any SocketOptionProvider else { return false }
        let peer: EventLoopFuture<Credentials> = provider.unsafeGetSocketOption(
            level: NIOBSDSocket.OptionLevel(rawValue: SOL_SOCKET), name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
        guard let user = try? await peer.map({ $0.user }).get() else { return false }
        return AdministrationServer.isAllowed(user)
    }

    private func answer() async {
        guard let request = try? JSONDecoder().decode(AdministrationRequest.self, from: line) else {
            _ = await write(
                .failed(
                    "The gateway does not understand the request. The gateway and this command may have different "
                        + "versions."))
            return
        }
        await Administration(gateway: gateway).answer(request) { await write($0) }
    }

    /// Writes a line. Returns false if the client no longer reads.
    private func write(_ reply: AdministrationReply) async -> Bool {
        guard let data = try? JSONEncoder().encode(reply) else { return false }
        var buffer = ByteBuffer(bytes: data)
        buffer.writeInteger(UInt8(0x0A))
        do {
            try await channel.writeAndFlush(buffer)
            return true
        } catch {
            return false
        }
    }
}
