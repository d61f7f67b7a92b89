import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NightshiftAPI

/// A handler that sends a problem document as the response to requests that are not valid HTTP, as for all other
/// errors.
///
/// Without this handler, Hummingbird sends a bare 400 response to requests that its parser refuses, and no response to
/// requests that its types cannot represent.
final class UnreadableRequestHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private var parserError: HTTPParserError?

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? HTTPParserError {
            parserError = error
            context.fireErrorCaught(error)
        } else if error is HTTP1TypeConversionError {
            parserError = .invalidMethod
            context.fireErrorCaught(HTTPParserError.invalidMethod)
        } else {
            context.fireErrorCaught(error)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard let parserError, case .head(let head) = unwrapOutboundIn(data), head.headerFields[.version] == nil else {
            context.write(data, promise: promise)
            return
        }
        let reply = Reply.problem(Self.problem(parserError))
        var fields = reply.headers
        fields[.connection] = "close"
        context.write(
            wrapOutboundOut(.head(HTTPResponse(status: reply.status, headerFields: fields))), promise: promise)
        context.write(wrapOutboundOut(.body(reply.bytes)), promise: nil)
    }

    private static func problem(_ error: HTTPParserError) -> Problem {
        switch error {
        case .headerOverflow:
            .headersTooLarge("The target or the header fields of the request are too long.")
        default:
            .badRequest("This is not an HTTP/1.1 request: \(error).")
        }
    }
}
