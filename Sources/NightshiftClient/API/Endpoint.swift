package import Foundation
import NightshiftAPI

/// One request of the local API: where it goes, what it carries, and what a good answer is.
///
/// The requests that clients make are written in this folder and nowhere else, one file for each resource; streams of events
/// are ``EventSource``. `Answer` is `Void` where the service answers nothing, and `Data` where it answers bytes as they are.
package struct Endpoint<Answer: Sendable>: Sendable {
    package let method: RequestMethod
    /// With its query; percent-encoded.
    package let path: String
    private let content: Content
    private let decode: @Sendable (Data) throws -> (Answer, [UnreadablePart])

    private enum Content: Sendable {
        case none
        case json(any Encodable & Sendable)
        case picture(Data)
    }

    /// What goes over the wire.
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

    /// What the body of a good answer says.
    ///
    /// - Throws: ``ServiceUnusable`` where it cannot be understood.
    package func answer(from body: Data) throws -> Answer { try decode(body).0 }

    /// As ``answer(from:)``, with the parts of the answer that were left out because this program cannot read them.
    func readableAnswer(from body: Data) throws -> (answer: Answer, unreadable: [UnreadablePart]) { try decode(body) }
}

/// The methods that the API knows.
package enum RequestMethod: String, Sendable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
}

/// An ``Endpoint`` ready to be sent, as often as need be.
package struct EncodedRequest: Hashable, Sendable {
    package var method: RequestMethod
    package var path: String
    package var body: Data?
    package var contentType = "application/json"
}

extension Endpoint where Answer: Decodable {
    /// Answered with JSON. A request without a body has no content at all, which the API tells from empty JSON.
    ///
    /// What `GET` asks for is read as far as it can be: one element that makes no sense does not hide the others of its list.
    ///
    /// - Parameter mayBeNewer: whether words of a later service are left out: for what apps ask, whose library stays as it is.
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
    /// Answered with nothing.
    init(_ method: RequestMethod, _ path: APIPath, _ body: (any Encodable & Sendable)? = nil) {
        self.method = method
        self.path = path.text
        content = body.map { .json($0) } ?? .none
        decode = { _ in ((), []) }
    }

    /// A picture in PNG instead of JSON.
    init(_ method: RequestMethod, _ path: APIPath, picture: Data) {
        self.method = method
        self.path = path.text
        content = .picture(picture)
        decode = { _ in ((), []) }
    }
}

extension Endpoint where Answer == Data {
    /// Answered with bytes as they are.
    init(bytesAt path: APIPath) {
        method = .get
        self.path = path.text
        content = .none
        decode = { ($0, []) }
    }
}
