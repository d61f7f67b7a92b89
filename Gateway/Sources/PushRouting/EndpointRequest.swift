package import PushProtocol

/// A request to a UnifiedPush endpoint, parsed from its method, path and header fields.
///
/// It follows the rules of RFC 8030, sections 5 and 6.2, and of UnifiedPush's "server interface". The token in the path
/// is the capability: anyone who has the token may send, so any other authorization is ignored.
package struct EndpointRequest: Sendable {
    package enum Action: Sendable {
        /// A query whether this URL is an endpoint.
        case discover
        case push(MessageHeaders)
        /// A request to delete a stored message.
        case withdraw(PushID)
    }

    package var token: String
    package var action: Action

    /// The path prefix: `/up/TOKEN` is an endpoint, and `/up/TOKEN/ID` is one message.
    private static let prefix = "/up/"

    package static func isEndpoint(_ path: String) -> Bool { path.hasPrefix(prefix) }

    /// Parses a request.
    ///
    /// - Parameter fields: the header fields, with names in lower case.
    package init(method: String, path: String, fields: [(name: String, value: String)]) throws(EndpointAnswer) {
        let parts = path.dropFirst(Self.prefix.count).split(separator: "/", omittingEmptySubsequences: false)
        guard path.hasPrefix(Self.prefix), let token = parts.first,
            (1...ProtocolLimits.tokenLength).contains(token.utf8.count)
        else { throw .notFound }
        self.token = token.lowercased()
        switch parts.count {
        case 1:
            switch method {
            case "GET", "HEAD": action = .discover
            case "POST": action = .push(try MessageHeaders(fields))
            default: throw EndpointAnswer(405, "Use POST, GET or HEAD for an endpoint.", [("allow", "GET, HEAD, POST")])
            }
        case 2:
            guard let id = PushID(String(parts[1]), lenient: true) else { throw .notFound }
            guard method == "DELETE" else {
                throw EndpointAnswer(405, "A message URL accepts only DELETE.", [("allow", "DELETE")])
            }
            action = .withdraw(id)
        default: throw .notFound
        }
    }
}

/// The header fields that describe a message to an endpoint.
package struct MessageHeaders: Sendable, Hashable {
    /// The granted time to live in seconds; 0 for a message with only one attempt.
    package var lifetime: Int64
    package var urgency: Urgency
    /// The sender's topic. A message replaces a stored message of the same topic.
    package var topic: String?

    package enum Urgency: String, Sendable, Hashable, CaseIterable {
        case veryLow = "very-low"
        case low
        case normal
        case high

        /// The push priority for the urgency. A dozing device receives only urgent messages at once. An unused device
        /// receives messages of low urgency with its next exchange.
        package var priority: PushPriority {
            switch self {
            case .veryLow, .low: .whenAwake
            case .normal: .considerate
            case .high: .immediate
            }
        }
    }

    /// The maximum length of a topic, in characters (RFC 8030, section 5.4).
    private static let topicLength = 32

    package init(_ fields: [(name: String, value: String)]) throws(EndpointAnswer) {
        guard let text = try Self.value("ttl", fields) else {
            throw EndpointAnswer(
                400, "The TTL header is missing. Set it to the number of seconds for which to keep the message.")
        }
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            throw EndpointAnswer(400, "TTL must be a whole number of seconds.")
        }
        // A number that does not fit into 64 bits exceeds the longest lifetime, so grant the longest lifetime.
        lifetime = min(Int64(text) ?? .max, Push.longestLifetime)
        if let text = try Self.value("urgency", fields) {
            guard let urgency = Urgency(rawValue: text.lowercased()) else {
                throw EndpointAnswer(400, "Urgency must be very-low, low, normal or high.")
            }
            self.urgency = urgency
        } else {
            urgency = .normal
        }
        if let coding = try Self.value("content-encoding", fields), coding.lowercased() != "aes128gcm" {
            throw .unknownCoding
        }
        topic = try Self.value("topic", fields)
        if let topic {
            guard (1...Self.topicLength).contains(topic.utf8.count), topic.utf8.allSatisfy(Self.isOfBase64URL) else {
                throw EndpointAnswer(400, "Topic must have 1 to 32 letters, digits, hyphens and underscores.")
            }
        }
    }

    /// Returns the value of a field. Throws an error if the field occurs twice, because its meaning is then ambiguous.
    private static func value(
        _ name: String, _ fields: [(name: String, value: String)]
    ) throws(EndpointAnswer) -> String? {
        let values = fields.filter { $0.name == name }
        guard values.count < 2 else { throw EndpointAnswer(400, "The request has more than one \(name) field.") }
        return values.first?.value
    }

    private static func isOfBase64URL(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

/// The response to a sender's request to an endpoint.
package struct EndpointAnswer: Error, Sendable {
    package var status: Int
    /// The body: text for a person, or JSON for discovery.
    package var text: String
    package var fields: [(name: String, value: String)]

    package init(_ status: Int, _ text: String = "", _ fields: [(name: String, value: String)] = []) {
        self.status = status
        self.text = text
        self.fields = fields
    }

    package static let discovery = EndpointAnswer(
        200, "{\"unifiedpush\":{\"version\":1}}", [("content-type", "application/json")])
    package static let withdrawn = EndpointAnswer(204)
    package static let notFound = EndpointAnswer(404, "This endpoint does not exist.")
    package static let gone = EndpointAnswer(410, "The app no longer accepts messages at this endpoint.")
    package static let empty = EndpointAnswer(400, "The message is empty.")
    package static let tooLarge = EndpointAnswer(413, "The message is longer than \(Push.messageLimit) bytes.")
    package static let noHost = EndpointAnswer(400, "An HTTP/1.1 request must have exactly one Host field.")
    package static let unknownCoding = EndpointAnswer(
        415, "The message must be encrypted with aes128gcm (RFC 8291). Devices cannot read other content codings.",
        [("accept-encoding", "aes128gcm")])
    package static let slow = EndpointAnswer(408, "The request was not complete in time.")
    package static let unavailable = EndpointAnswer(
        503, "The gateway cannot accept the message now.", [("retry-after", "30")])
    package static let failed = EndpointAnswer(500, "The message could not be stored.")

    package static func accepted(_ push: Push, lifetime: Int64, at location: String) -> EndpointAnswer {
        EndpointAnswer(201, "", [("location", location), ("ttl", "\(lifetime)")])
    }

    /// Returns the response to a sender that has sent too many messages.
    ///
    /// - Parameter wait: the time after which the sender may retry, in seconds.
    package static func tooMany(_ wait: Double) -> EndpointAnswer {
        EndpointAnswer(
            429, "Too many messages for this endpoint.", [("retry-after", "\(max(1, Int(wait.rounded(.up))))")])
    }
}

extension Push {
    /// The maximum size of a UnifiedPush message in bytes.
    package static let messageLimit = 4_096

    /// Creates the push for a sender's message to a registration. The payload is the unchanged body.
    package init(
        _ headers: MessageHeaders, body: [UInt8], device: DeviceID, topic: String, id: PushID, now: RouteTime
    ) throws(EndpointAnswer) {
        guard !body.isEmpty else { throw .empty }
        guard body.count <= Self.messageLimit else { throw .tooLarge }
        self.init(
            id: id, device: device, topic: topic, receivedAt: now.wallMilliseconds,
            lifetime: headers.lifetime == 0 ? .once : .until(now.wallSeconds + headers.lifetime),
            priority: headers.urgency.priority, type: .unifiedpush, collapseID: headers.topic, isSilent: false,
            payload: body)
    }
}
