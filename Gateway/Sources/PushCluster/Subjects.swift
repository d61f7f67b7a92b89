import PushProtocol
import PushRouting

/// The names of the store's streams and subjects.
struct Subjects: Sendable {
    var streams: Int

    static let registry = "KV_nightshift_registry"
    static let devices = "KV_nightshift_devices"
    static let tokens = "KV_nightshift_tokens"
    static let enrolments = "KV_nightshift_enrolments"
    static let seen = "NIGHTSHIFT_SEEN"
    static let buckets = "NIGHTSHIFT_BUCKETS"
    static let log = "NIGHTSHIFT_LOG"

    /// Returns the name of the stream that stores a device's pushes of `slot`.
    func stream(of device: DeviceID, _ slot: Slot) -> String {
        slot.isKept ? Self.keptStream(number(of: device)) : Self.stream(number(of: device))
    }

    static func stream(_ number: Int) -> String { streams + "\(number)" }
    static func keptStream(_ number: Int) -> String { keptStreams + "\(number)" }
    static let streams = "NIGHTSHIFT_PUSH_"
    static let keptStreams = "NIGHTSHIFT_KEPT_"

    /// Returns the subject of a place in storage. Each place of a topic has its own subject, with one exception: all
    /// kept alerts or messages of a topic share one subject.
    func push(_ device: DeviceID, topic: String, slot: Slot) -> String {
        let end = "\(number(of: device)).\(Self.name(device)).\(Self.token(topic))"
        return slot.isKept ? "nightshift.kept.\(end)" : "nightshift.push.\(end).\(Self.token(slot.text))"
    }

    func kept(_ device: DeviceID, topic: String) -> String { push(device, topic: topic, slot: .named("")) }
    func keptStream(of device: DeviceID) -> String { stream(of: device, .named("")) }

    private func number(of device: DeviceID) -> Int { Int(device.low % UInt64(streams)) }

    /// Returns the subject for messages to the gateway to which a device is connected: republished pushes, and
    /// requests.
    static func live(_ device: DeviceID) -> String { "nightshift.live.\(name(device)).>" }
    static func once(_ device: DeviceID) -> String { "nightshift.live.\(name(device)).once" }
    static func keeps(_ device: DeviceID) -> String { "nightshift.live.\(name(device)).keeps" }
    static func seen(_ device: DeviceID) -> String { "nightshift.seen.\(name(device))" }

    /// The subject to which gateways write to test that writes become durable. The name cannot be that of a device.
    static let probe = "nightshift.seen.probe"

    static func bucket(_ device: DeviceID, topic: String) -> String {
        "nightshift.bucket.\(name(device)).\(token(topic))"
    }

    static func log(_ push: PushID) -> String { "nightshift.log.\(name(push))" }

    static func registry(_ kind: String, _ name: String) -> String {
        "$KV.nightshift_registry.\(kind).\(token(name))"
    }

    static func device(_ device: DeviceID) -> String { "$KV.nightshift_devices.\(name(device))" }
    static func token(of token: String) -> String { "$KV.nightshift_tokens.\(Self.token(token))" }

    static func enrolment(_ hash: [UInt8]) -> String {
        "$KV.nightshift_enrolments.\(hash.map { digits($0) }.joined())"
    }

    /// Returns an id as one token of a subject, without hyphens.
    static func name(_ identifier: Identifier) -> String { identifier.bytes.map { digits($0) }.joined() }

    static func identifier(_ name: some StringProtocol) -> Identifier? {
        guard name.utf8.count == 32, let high = UInt64(name.prefix(16), radix: 16),
            let low = UInt64(name.dropFirst(16), radix: 16)
        else { return nil }
        return Identifier(high: high, low: low)
    }

    /// Encodes any text as one token of a subject. Each character with a special meaning in subjects becomes `=` and
    /// its hexadecimal digits, so different texts have different tokens.
    static func token(_ text: String) -> String {
        var token = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: token.unicodeScalars.append(Unicode.Scalar(byte))
            default: token += "=" + digits(byte)
            }
        }
        // A token of a subject must not be empty.
        return token.isEmpty ? "=" : token
    }

    private static func digits(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16)
        return byte < 16 ? "0" + digits : digits
    }
}

extension NATSStore {
    /// Encodes any text as one token of a NATS subject.
    package static func token(_ text: String) -> String { Subjects.token(text) }
}
