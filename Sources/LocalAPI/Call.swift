import Foundation
import Glibc
import HTTPTypes
import Hummingbird
import NIOCore
import NightshiftAPI

/// One request to one route.
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
        TaskID(try QueryParameters.integer(try parameter("id"), in: 1...Int64.max, called: "task's id"))
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

    /// What an app calls its session.
    func sessionIdentifier() throws(Problem) -> String {
        // Checked below, and refused with the rule that it breaks.
        let identifier = try decoded("identifier")
        guard identifier.utf8.count <= Limits.sessionIdentifierLength,
            identifier.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else {
            throw .invalid(
                "A session identifier has 1 to \(Limits.sessionIdentifierLength) bytes and no control characters.")
        }
        return identifier
    }

    /// What an app calls a task that it schedules.
    func taskIdentifier() throws(Problem) -> String {
        try parameter("identifier")
    }

    /// What an app calls a notification.
    func notificationIdentifier() throws(Problem) -> String {
        try parameter("identifier")
    }

    /// What an app calls a region.
    func regionIdentifier() throws(Problem) -> String {
        try parameter("identifier")
    }

    /// The process that calls, for what only concerns itself.
    func process() throws(Problem) -> pid_t {
        let process = context.caller.process
        guard process > 0 else {
            throw .forbidden("The calling process cannot be identified, because it is in another PID namespace.")
        }
        return process
    }

    /// The stream of commands that the process believes to have, where it says.
    var channel: String? { request.headers[.channel] }

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
    // A token as RFC 9110 wants it: cannot be nil.
    fileprivate static let channel = HTTPField.Name(ProcessHello.channelField)!
}
