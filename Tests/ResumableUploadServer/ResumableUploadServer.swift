import ArgumentParser
import Glibc
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1
import NIOPosix
import NIOResumableUpload

/// A server on loopback with the resumable uploads of swift-nio-extras, for clients of the IETF draft.
@main
struct ResumableUploadServer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resumable-upload-server",
        abstract: "Takes uploads with POST and PUT, resumable ones included, until its time is over.",
        discussion: """
            Prints its port as one line. An upload to /a/b is kept as DIRECTORY/a/b when it is whole, and then \
            described in DIRECTORY/a/b.upload.json.
            """)

    @Option(help: "The port; 0 takes a free one.")
    var port = 0

    @Option(help: "What the addresses of uploads begin with: the server itself, or what stands before it.")
    var origin: String?

    @Option(help: "Where finished uploads go.")
    var directory: String

    @Option(help: "Seconds for which an upload is kept that nobody continues.")
    var keep: Int64 = 3600

    @Option(help: "Seconds after which the server ends.")
    var seconds: Int64 = 3600

    func run() async throws {
        let store = try UploadDirectory(path: directory)
        let group = MultiThreadedEventLoopGroup.singleton
        // The origin of upload resources must be known before the first connection. `freePort` returns a port that is
        // free again.
        let address = try port == 0 ? await Self.freePort(group) : port
        let context = HTTPResumableUploadContext(
            origin: origin ?? "http://127.0.0.1:\(address)", timeout: .seconds(keep))
        let server = try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
                    try pipeline.addHandler(
                        // Each upload gets its own handler, because one connection may carry several uploads.
                        HTTPResumableUploadHandler(context: context) { upload in
                            try? upload.pipeline.syncOperations.addHandler(UploadHandler(store))
                        })
                }
            }
            .bind(host: "127.0.0.1", port: address).get()
        print(address)
        fflush(nil)
        endInTime(server.eventLoop)
        try await server.closeFuture.get()
    }

    /// Ends the server when the process that started it has ended, or when its time limit is reached.
    private func endInTime(_ loop: any EventLoop) {
        let parent = getppid()
        loop.scheduleTask(in: .seconds(seconds)) { Glibc.exit(0) }
        loop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { _ in
            if getppid() != parent { Glibc.exit(0) }
        }
    }

    private static func freePort(_ group: any EventLoopGroup) async throws -> Int {
        let channel = try await ServerBootstrap(group: group).bind(host: "127.0.0.1", port: 0).get()
        let port = channel.localAddress?.port ?? 0
        try await channel.close()
        return port
    }
}
