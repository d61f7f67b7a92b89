import Foundation
import Hummingbird
import NIOCore
import NightshiftAPI

/// One request to one route.
struct Call: Sendable {
    var request: Request
    var query: QueryParameters
    private let parameters: Parameters

    init(request: Request, parameters: Parameters, query: QueryParameters) {
        self.request = request
        self.parameters = parameters
        self.query = query
    }

    func taskID() throws(Problem) -> TaskID {
        TaskID(try QueryParameters.integer(try parameter("id"), in: 1...Int64.max, called: "task's id"))
    }

    func sessionID() throws(Problem) -> SessionID {
        SessionID(rawValue: try parameter("id"))
    }

    private func parameter(_ name: String) throws(Problem) -> String {
        guard let value = parameters.get(name)?.removingPercentEncoding else {
            throw .badRequest("The path '\(request.uri.path)' is not percent-encoded UTF-8.")
        }
        return value
    }
}
