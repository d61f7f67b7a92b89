import Foundation
import Glibc
import NIOCore
import NIOPosix
import NightshiftAPI
import NightshiftClient

/// The Unix socket on which the page process gives out links. Each connection to the socket gets a ``PageAddress`` in
/// JSON.
///
/// The socket is in the directory of the service's socket, which only the user may enter.
enum LinkSocket {
    /// Opens the socket, replacing the socket of an earlier process.
    static func open(
        _ path: String, on group: MultiThreadedEventLoopGroup, link: @escaping @Sendable () -> String
    ) async throws -> any Channel {
        let channel = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(LinkHandler(link: link))
                }
            }
            .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
        chmod(path, 0o600)
        return channel
    }

    /// Requests a link from the page process at `path`; returns nil if no such process runs.
    static func ask(_ path: String) -> PageAddress? {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // Limit the time: a stopped process accepts connections and never answers.
        var limit = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isConnected else { return nil }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1024)
        while answer.count < mostBytes {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            answer += buffer.prefix(count)
        }
        return try? JSON.decode(PageAddress.self, from: Data(answer))
    }

    /// The maximum size of an answer in bytes. A link has about 150.
    private static let mostBytes = 4_096
}

/// A channel handler that writes one link and closes the connection.
private final class LinkHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let link: @Sendable () -> String

    init(link: @escaping @Sendable () -> String) {
        self.link = link
    }

    func channelActive(context: ChannelHandlerContext) {
        let answer = (try? JSON.encode(PageAddress(url: link(), processID: getpid()))) ?? Data()
        let channel = context.channel
        channel.writeAndFlush(ByteBuffer(bytes: answer)).whenComplete { _ in channel.close(promise: nil) }
    }
}
