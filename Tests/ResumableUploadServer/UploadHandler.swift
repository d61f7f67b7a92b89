import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// The application that receives resumable uploads. It receives one request with one body for each upload, however
/// often the connection was lost.
final class UploadHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundOut = HTTPResponsePart

    private let store: UploadDirectory
    private var upload: PendingUpload?
    private var hasAnswered = false

    init(_ store: UploadDirectory) {
        self.store = store
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasAnswered else { return }
        do {
            switch unwrapInboundIn(data) {
            case .head(let request):
                guard request.method == .post || request.method == .put else {
                    return answer(.methodNotAllowed, context)
                }
                upload = try store.upload(for: request)
                if upload == nil { answer(.badRequest, context) }
            case .body(let body):
                try body.withUnsafeReadableBytes { try upload?.write($0) }
            case .end:
                try upload?.finish()
                upload = nil
                answer(.created, context)
            }
        } catch {
            answer(.internalServerError, context)
        }
    }

    private func answer(_ status: HTTPResponse.Status, _ context: ChannelHandlerContext) {
        hasAnswered = true
        let response = HTTPResponse(status: status, headerFields: [.contentLength: "0"])
        context.write(wrapOutboundOut(.head(response)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        upload = nil
    }
}
