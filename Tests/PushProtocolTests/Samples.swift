import PushProtocol

/// Random numbers from a seed, so that a failure can be reproduced.
struct Seeded: RandomNumberGenerator {
    var state: UInt64

    init(_ seed: UInt64) {
        state = seed
    }

    /// The SplitMix64 algorithm.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
    }
}

enum Samples {
    static let device = DeviceID(high: 1, low: 2)
    static let nonce = [UInt8](repeating: 7, count: ProtocolLimits.nonceLength)
    static let signature = [UInt8](repeating: 9, count: ProtocolLimits.signatureLength)

    static func message(_ number: UInt64, payload: [UInt8] = Array(#"{"aps":{}}"#.utf8)) -> Message {
        Message(
            id: PushID(high: 0, low: number), topic: "org.example.Mail", timestamp: 1_700_000_000_123,
            expiry: 1_700_003_600, priority: .immediate, type: .alert, collapseID: "thread-1", isFromStorage: true,
            payload: payload)
    }

    static let connect = Connect(
        device: device, signature: signature, keepAlive: 600, state: .idle,
        topics: [TopicChoice("org.example.Mail", .enabled), TopicChoice("org.example.News", .opportunistic)])

    static let frames: [Frame] = [
        .hello(version: 1, nonce: nonce), .connected(keepAlive: 600), .enrolled(device), .message(message(3)),
        .message(
            Message(
                id: PushID(high: .max, low: .max), topic: "a", timestamp: -1, expiry: nil, priority: .whenAwake,
                type: .voip, collapseID: nil, isFromStorage: false,
                payload: [UInt8](repeating: 0x20, count: ProtocolLimits.payloadLength))),
        .pong, .registered(request: 4, topic: "org.example.Mail", token: "00ff"), .unregistered(request: 5),
        .refused(request: .max, Refusal(.unknownTopic, "There is no such topic – here.")), .connect(connect),
        .enrol(code: "abc", key: [UInt8](repeating: 1, count: ProtocolLimits.keyLength), name: ""),
        .topics([]), .topics(connect.topics), .acknowledge(PushID(high: 5, low: 6)), .ping(interval: 0),
        .state(.dozing),
        .register(request: 1, topic: "a", fresh: true), .register(request: 1, topic: "a", fresh: false),
        .unregister(request: 2, topic: "b"), .goAway(Refusal(.shutdown, ""), retryAfter: 30),
        .connected(keepAlive: 600, endpoints: "https://push.example"),
    ]
}
