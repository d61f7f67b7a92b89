package import PushProtocol

/// A provider's request, parsed from its method, path and header fields.
///
/// Header names are in lower case. The request follows the rules of Apple's "Sending notification requests to APNs".
package struct ProviderRequest: Sendable {
    /// The device token in the path, in lower case. Some libraries send its digits in upper case, as APNs allows.
    package var token: String
    package var fields: [(name: String, value: String)]

    /// The header fields that may occur only once, because a second value would be ambiguous.
    private static let single: Set<String> = [
        "authorization", "apns-id", "apns-expiration", "apns-priority", "apns-topic", "apns-push-type",
        "apns-collapse-id", "content-type",
    ]

    package init(method: String, path: String, fields: [(name: String, value: String)]) throws(Rejection) {
        // None of the gateway's paths has a query, so refuse a path with one.
        guard path.hasPrefix("/3/device"), !path.contains("?") else { throw .badPath }
        let rest = path.dropFirst("/3/device".count)
        guard rest.isEmpty || rest.hasPrefix("/") else { throw .badPath }
        guard method == "POST" else { throw .methodNotAllowed }
        token = rest.dropFirst().lowercased()
        guard !token.isEmpty else { throw .missingDeviceToken }
        guard !token.contains("/") else { throw .badPath }
        self.fields = fields
        var seen: Set<String> = []
        for field in fields where Self.single.contains(field.name) {
            guard seen.insert(field.name).inserted else { throw .duplicateHeaders }
        }
    }

    package func value(_ name: String) -> String? {
        fields.first { $0.name == name }?.value
    }

    /// Returns the token from the field `authorization: bearer`.
    package func bearer() throws(Rejection) -> String {
        guard let value = value("authorization") else { throw .missingProviderToken }
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw .invalidProviderToken }
        // One or more spaces separate the scheme and the token (RFC 9110, section 11.4).
        return String(parts[1].drop { $0 == " " })
    }

    /// Returns the push id for the response, including the response to a refused request.
    package static func identifier(_ fields: [(name: String, value: String)]) -> PushID? {
        fields.first { $0.name == "apns-id" }.flatMap { PushID($0.value, lenient: true) }
    }
}

/// The header fields that describe a provider's push.
package struct PushHeaders: Sendable, Hashable {
    /// The push's id; nil if the gateway generates it.
    package var id: PushID?
    /// The expiration in seconds since 1970; 0 for only one attempt; nil if the provider sent no expiration.
    package var expiration: Int64?
    package var priority: PushPriority?
    package var type: PushType?
    package var collapseID: String?
    package var topic: String?

    package init(_ request: ProviderRequest) throws(Rejection) {
        if let value = request.value("apns-id") {
            guard let id = PushID(value, lenient: true) else { throw .badMessageId }
            self.id = id
        }
        if let value = request.value("apns-expiration") {
            guard let time = Int64(value), time >= 0, value.allSatisfy(\.isNumber) else { throw .badExpirationDate }
            expiration = time
        }
        if let value = request.value("apns-priority") {
            guard let number = UInt8(value), let priority = PushPriority(rawValue: number) else { throw .badPriority }
            self.priority = priority
        }
        if let value = request.value("apns-push-type") {
            guard let type = PushType(name: value.lowercased()) else { throw .invalidPushType }
            self.type = type
        }
        if let value = request.value("apns-collapse-id") {
            guard (1...ProtocolLimits.collapseLength).contains(value.utf8.count) else { throw .badCollapseId }
            collapseID = value
        }
        if type == .background, priority == .immediate { throw .badPriority }
        topic = request.value("apns-topic")
    }
}

/// A topic as a provider names it: an app's topic and the suffix of a push type.
package struct TopicName: Sendable, Hashable {
    /// The app's topic.
    package var base: String

    /// Parses the name of a topic.
    ///
    /// - Parameter type: the push type; nil if the provider named none.
    package init(_ name: String, type: PushType?) throws(Rejection) {
        guard (1...ProtocolLimits.topicLength).contains(name.utf8.count), name.utf8.allSatisfy(Self.isAllowed) else {
            throw .badTopic
        }
        guard let suffix = type?.topicSuffix else {
            base = name
            return
        }
        guard name.hasSuffix(suffix), name.utf8.count > suffix.utf8.count else { throw .badTopic }
        base = String(name.dropLast(suffix.count))
    }

    private static func isAllowed(_ character: UInt8) -> Bool {
        switch character {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
        default: false
        }
    }
}

extension PushType {
    /// The suffix of this push type, which is appended to the app's topic; nil if the type has none.
    package var topicSuffix: String? {
        switch self {
        case .alert, .background, .mdm, .unifiedpush: nil
        case .complication: ".complication"
        case .controls: ".push-type.controls"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .location: ".location-query"
        case .pushtotalk: ".voip-ptt"
        case .voip: ".voip"
        case .widgets: ".push-type.widgets"
        }
    }

    /// The maximum size of a payload in bytes.
    package var payloadLimit: Int { self == .voip ? 5_120 : 4_096 }
}

extension Push {
    /// The maximum time for which a push is stored, in seconds. It is also the default if a provider sets no
    /// expiration.
    package static let longestLifetime: Int64 = 30 * 86_400

    /// Creates a push from `headers` and `payload`.
    package init(
        _ headers: PushHeaders, payload: [UInt8], device: DeviceID, topic: String, id: PushID, now: RouteTime
    ) throws(Rejection) {
        guard !payload.isEmpty else { throw .payloadEmpty }
        guard payload.count <= (headers.type ?? .alert).payloadLimit else { throw .payloadTooLarge }
        // Apps can only use a payload that is a JSON object, so refuse any other payload.
        guard let facts = PayloadFacts(payload) else { throw .payloadEmpty }
        let type = headers.type ?? (facts.isContentAvailable && !facts.isVisible ? .background : .alert)
        let latest = now.wallSeconds + Self.longestLifetime
        let lifetime: Lifetime =
            switch headers.expiration {
            case nil: .until(latest)
            case 0?: .once
            case let time?: .until(min(time, latest))
            }
        // An alert without visible content is a silent push, even if its headers say otherwise.
        let isSilent = type == .background || type == .alert && !facts.isVisible
        self.init(
            id: id, device: device, topic: topic, receivedAt: now.wallMilliseconds, lifetime: lifetime,
            priority: headers.priority ?? (type == .background ? .considerate : .immediate), type: type,
            collapseID: headers.collapseID, isSilent: isSilent, payload: payload)
    }
}
