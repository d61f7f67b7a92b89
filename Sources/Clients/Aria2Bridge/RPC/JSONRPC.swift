import Foundation

/// The format of JSON-RPC 2.0: requests, batches and responses, also as parameters of a GET request.
enum JSONRPC {
    /// A request with its id, or the error that it is answered with.
    struct Request: Hashable, Sendable {
        var id: RPCValue
        var call: Result<RPCCall, RPCError>
    }

    /// The content of a body, of a WebSocket message, or of a query.
    enum Message: Hashable, Sendable {
        case single(Request)
        case batch([Request])
    }

    /// Parses a message. As in aria2, the member `jsonrpc` is not required, and elements of a batch that are not
    /// objects are ignored.
    static func message(_ bytes: Data) -> Message {
        guard let value = try? JSONDecoder().decode(RPCValue.self, from: bytes) else {
            return .single(Request(id: .null, call: .failure(.parse)))
        }
        if case .array(let values) = value { return .batch(values.filter { $0.object != nil }.map(request)) }
        return .single(request(value))
    }

    /// Parses the query of a GET request: `method`, `id`, and `params` as Base64 of JSON. Without `method`, `params` is
    /// a whole message.
    static func message(query: [String: String]) -> Message {
        let parameters = query["params"].flatMap { Data(base64Encoded: $0) }
        guard let method = query["method"] else {
            guard query["id"] == nil, let parameters else {
                return .single(Request(id: .null, call: .failure(.invalidRequest)))
            }
            return message(parameters)
        }
        guard let id = query["id"] else { return .single(Request(id: .null, call: .failure(.invalidRequest))) }
        var members: [String: RPCValue] = ["id": .string(id), "method": .string(method)]
        if query["params"] != nil {
            guard let parameters, let value = try? JSONDecoder().decode(RPCValue.self, from: parameters) else {
                return .single(Request(id: .null, call: .failure(.invalidRequest)))
            }
            members["params"] = value
        }
        return .single(request(.object(members)))
    }

    private static func request(_ value: RPCValue) -> Request {
        guard let members = value.object else { return Request(id: .null, call: .failure(.invalidRequest)) }
        let id = members["id"] ?? .null
        guard members.keys.contains("id"), let method = members["method"]?.string else {
            return Request(id: id, call: .failure(.invalidRequest))
        }
        let parameters = members["params"] ?? .array([])
        guard parameters.array != nil else { return Request(id: id, call: .failure(.invalidParameters)) }
        return Request(id: id, call: .success(RPCCall(method: method, parameters: parameters)))
    }

    /// Returns the response to a request.
    static func response(_ id: RPCValue, _ result: Result<RPCValue, RPCError>) -> RPCValue {
        switch result {
        case .success(let value): ["id": id, "jsonrpc": "2.0", "result": value]
        case .failure(let error): ["id": id, "jsonrpc": "2.0", "error": error.value]
        }
    }

    /// Returns the text of a notification of an event of a download.
    static func notification(_ event: DownloadEvent, _ gid: GID) -> RPCValue {
        [
            "jsonrpc": "2.0", "method": .string("aria2.\(event.rawValue)"),
            "params": [["gid": .string(gid.text)]],
        ]
    }

    static func text(_ value: RPCValue) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        // Encoding fails only for numbers that JSON cannot express, and calls with such numbers are not parsed.
        return (try? encoder.encode(value)) ?? Data("null".utf8)
    }
}
