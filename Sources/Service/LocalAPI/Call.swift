import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import NightshiftAPI
import Operations

/// A request and the route that handles it.
struct Call: Sendable {
    var request: Request
    var query: QueryParameters
    private let context: CallContext

    init(request: Request, context: CallContext, query: QueryParameters) {
        self.request = request
        self.context = context
        self.query = query
    }

    func taskID() throws(Problem) -> TaskID {
        TaskID(try QueryParameters.integer(try parameter("id"), in: 1...Int64.max, called: "transfer's id"))
    }

    func integer(_ name: String, in range: ClosedRange<Int64>) throws(Problem) -> Int64 {
        try QueryParameters.integer(try parameter(name), in: range, called: "path's \(name)")
    }

    func sessionID() throws(Problem) -> SessionID {
        SessionID(rawValue: try parameter("id"))
    }

    func appID() throws(Problem) -> AppID {
        AppID(rawValue: try parameter("id"))
    }

    /// Returns the session identifier that the app uses.
    func sessionIdentifier() throws(Problem) -> String {
        // The identifier is checked below, so that the message names the violated rule.
        let identifier = try decoded("identifier")
        guard identifier.utf8.count <= Limits.sessionIdentifierLength,
            identifier.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else {
            throw .invalid(
                "A session identifier has 1 to \(Limits.sessionIdentifierLength) bytes and no control characters.")
        }
        return identifier
    }

    /// Returns the identifier of a scheduled task of the app.
    func taskIdentifier() throws(Problem) -> String {
        try parameter("identifier")
    }

    /// Returns the identifier of a notification of the app.
    func notificationIdentifier() throws(Problem) -> String {
        try parameter("identifier")
    }

    /// Returns the identifier of a region of the app.
    func regionIdentifier() throws(Problem) -> String {
        try parameter("identifier")
    }

    /// Returns the calling process, for requests about the process itself.
    func process() throws(Problem) -> CallingProcess {
        let process = context.caller.process
        guard process > 0 else {
            throw .forbidden("The calling process cannot be identified, because it is in another PID namespace.")
        }
        return CallingProcess(process, channel: request.headers[.channel])
    }

    private func parameter(_ name: String) throws(Problem) -> String {
        let value = try decoded(name)
        guard !value.utf8.contains(0) else { throw .notFound("The path must not contain the character NUL.") }
        return value
    }

    private func decoded(_ name: String) throws(Problem) -> String {
        guard let value = context.parameters.get(name)?.removingPercentEncoding else {
            throw .badRequest("The path '\(request.uri.path)' is not percent-encoded UTF-8.")
        }
        return value
    }
}

extension HTTPField.Name {
    // The name is a valid token (RFC 9110), so the result is not nil.
    fileprivate static let channel = HTTPField.Name(ProcessHello.channelField)!
}
