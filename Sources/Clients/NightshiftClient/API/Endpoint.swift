package import Foundation
import NightshiftAPI

/// One request of the local API: its path, its body, and the type of a successful response.
///
/// All requests of clients are defined in this folder, one file for each resource. Event streams are ``EventSource``
/// values. `Answer` is `Void` if the response has no content, and `Data` if the response is returned as bytes.
package struct Endpoint<Answer: Sendable>: Sendable {
    package let method: RequestMethod
    /// The percent-encoded path with its query.
    package let path: String
    private let content: Content
    private let decode: @Sendable (Data) throws -> (Answer, [UnreadablePart])

    private enum Content: Sendable {
        case none
        case json(any Encodable & Sendable)
        case picture(Data)
    }

    /// Returns the request in the form in which it is sent.
    package func encoded() throws -> EncodedRequest {
        var request = EncodedRequest(method: method, path: path)
        switch content {
        case .none: break
        case .json(let value): request.body = try JSON.encode(value)
        case .picture(let data):
            request.body = data
            request.contentType = "image/png"
        }
        return request
    }

    /// Decodes the body of a successful response.
    ///
    /// - Throws: ``ServiceUnusable`` if the body cannot be parsed.
    package func answer(from body: Data) throws -> Answer { try decode(body).0 }

    /// Decodes the body like ``answer(from:)``, and also returns the parts that were left out because this program
    /// cannot read them.
    func readableAnswer(from body: Data) throws -> (answer: Answer, unreadable: [UnreadablePart]) { try decode(body) }
}

/// The HTTP methods of the API.
package enum RequestMethod: String, Sendable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
}

/// An ``Endpoint`` in the form in which it is sent. A client can send it several times.
package struct EncodedRequest: Hashable, Sendable {
    package var method: RequestMethod
    package var path: String
    package var body: Data?
    package var contentType = "application/json"
}

extension Endpoint where Answer: Decodable {
    /// Creates a request with a JSON response. A request without a body has no content, which the API distinguishes
    /// from empty JSON.
    ///
    /// A client reads as much of the response of `GET` as it can: one unreadable element does not hide the other
    /// elements of its list.
    ///
    /// - Parameter mayBeNewer: Whether unknown values of a later service are left out. It is true for requests of apps,
    ///   whose library is not updated with the service.
    init(
        _ method: RequestMethod, _ path: APIPath, _ body: (any Encodable & Sendable)? = nil, mayBeNewer: Bool = false
    ) {
        self.method = method
        self.path = path.text
        content = body.map { .json($0) } ?? .none
        decode = { data in
            do {
                return try mayBeNewer || method == .get
                    ? JSON.decodeReadable(Answer.self, from: data) : (JSON.decode(Answer.self, from: data), [])
            } catch {
                throw ServiceUnusable(
                    message: "The response of the service cannot be parsed. The service may have another version. "
                        + "Run: nightshift doctor")
            }
        }
    }
}

extension Endpoint where Answer == Void {
    /// Creates a request with an empty response.
    init(_ method: RequestMethod, _ path: APIPath, _ body: (any Encodable & Sendable)? = nil) {
        self.method = method
        self.path = path.text
        content = body.map { .json($0) } ?? .none
        decode = { _ in ((), []) }
    }

    /// Creates a request with a PNG body instead of JSON.
    init(_ method: RequestMethod, _ path: APIPath, picture: Data) {
        self.method = method
        self.path = path.text
        content = .picture(picture)
        decode = { _ in ((), []) }
    }
}

extension Endpoint where Answer == Data {
    /// Creates a request whose response is returned as bytes.
    init(bytesAt path: APIPath) {
        method = .get
        self.path = path.text
        content = .none
        decode = { ($0, []) }
    }
}
