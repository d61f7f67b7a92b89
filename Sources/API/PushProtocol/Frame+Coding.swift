extension Frame {
    /// The types of frames, with their numbers in the protocol.
    enum Kind: UInt8 {
        case hello = 1
        case connect, connected, enrol, enrolled, topics, message, acknowledge, ping, pong, state, register, registered
        case unregister, unregistered, refused, goAway
    }

    var kind: Kind {
        switch self {
        case .hello: .hello
        case .connect: .connect
        case .connected: .connected
        case .enrol: .enrol
        case .enrolled: .enrolled
        case .topics: .topics
        case .message: .message
        case .acknowledge: .acknowledge
        case .ping: .ping
        case .pong: .pong
        case .state: .state
        case .register: .register
        case .registered: .registered
        case .unregister: .unregister
        case .unregistered: .unregistered
        case .refused: .refused
        case .goAway: .goAway
        }
    }

    /// The bytes of the frame as they are sent, including the header.
    package var encoded: [UInt8] {
        var fields = FieldWriter()
        write(to: &fields)
        let length = UInt32(fields.bytes.count)
        return [kind.rawValue] + (0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * $0)) } + fields.bytes
    }

    private func write(to fields: inout FieldWriter) {
        switch self {
        case .hello(let version, let nonce):
            fields.put(.version, version)
            fields.put(.nonce, nonce)
        case .connected(let keepAlive, let endpoints):
            fields.put(.keepAlive, keepAlive)
            if let endpoints { fields.put(.endpoints, endpoints) }
        case .enrolled(let device): fields.put(.device, device.bytes)
        case .message(let message): message.write(to: &fields)
        case .pong: break
        case .registered(let request, let topic, let token):
            fields.put(.request, request)
            fields.put(.topic, topic)
            fields.put(.token, token)
        case .unregistered(let request): fields.put(.request, request)
        case .refused(let request, let refusal):
            fields.put(.request, request)
            refusal.write(to: &fields)
        case .connect(let connect):
            fields.put(.version, connect.version)
            fields.put(.device, connect.device.bytes)
            fields.put(.signature, connect.signature)
            fields.put(.keepAlive, connect.keepAlive)
            fields.put(.state, connect.state.rawValue)
            Self.write(connect.topics, to: &fields)
        case .enrol(let code, let key, let name):
            fields.put(.code, code)
            fields.put(.key, key)
            fields.put(.name, name)
        case .topics(let choices): Self.write(choices, to: &fields)
        case .acknowledge(let push): fields.put(.push, push.bytes)
        case .ping(let interval): fields.put(.keepAlive, interval)
        case .state(let state): fields.put(.state, state.rawValue)
        case .register(let request, let topic, let fresh):
            fields.put(.request, request)
            fields.put(.topic, topic)
            if fresh { fields.put(.fresh, [1]) }
        case .unregister(let request, let topic):
            fields.put(.request, request)
            fields.put(.topic, topic)
        case .goAway(let refusal, let retryAfter):
            refusal.write(to: &fields)
            fields.put(.retryAfter, retryAfter)
        }
    }

    private static func write(_ choices: [TopicChoice], to fields: inout FieldWriter) {
        for choice in choices { fields.put(.choice, [choice.filter.rawValue] + choice.topic.utf8) }
    }

    /// Parses the body of a frame of the type `kind`.
    init(_ kind: Kind, _ bytes: ArraySlice<UInt8>) throws(FrameError) {
        let fields = try FieldReader(bytes)
        let topicLengths = 1...ProtocolLimits.topicLength
        switch kind {
        case .hello:
            let length = ProtocolLimits.nonceLength
            self = .hello(
                version: try fields.number(.version, as: UInt8.self), nonce: try fields.bytes(.nonce, length...length))
        case .connected:
            self = .connected(
                keepAlive: try fields.number(.keepAlive, as: UInt32.self),
                endpoints: try fields.optionalText(.endpoints, 1...ProtocolLimits.endpointsLength))
        case .enrolled: self = .enrolled(try fields.identifier(.device))
        case .message: self = .message(try Message(fields))
        case .pong: self = .pong
        case .registered:
            self = .registered(
                request: try fields.number(.request, as: UInt32.self), topic: try fields.text(.topic, topicLengths),
                token: try fields.text(.token, 1...ProtocolLimits.tokenLength))
        case .unregistered: self = .unregistered(request: try fields.number(.request, as: UInt32.self))
        case .refused: self = .refused(request: try fields.number(.request, as: UInt32.self), try Refusal(fields))
        case .connect:
            let length = ProtocolLimits.signatureLength
            self = .connect(
                Connect(
                    version: try fields.number(.version, as: UInt8.self), device: try fields.identifier(.device),
                    signature: try fields.bytes(.signature, length...length),
                    keepAlive: try fields.number(.keepAlive, as: UInt32.self),
                    state: try fields.word(.state, as: ReportedActivity.self), topics: try fields.choices()))
        case .enrol:
            let length = ProtocolLimits.keyLength
            self = .enrol(
                code: try fields.text(.code, 1...ProtocolLimits.codeLength),
                key: try fields.bytes(.key, length...length),
                name: try fields.text(.name, 0...ProtocolLimits.textLength))
        case .topics: self = .topics(try fields.choices())
        case .acknowledge: self = .acknowledge(try fields.identifier(.push))
        case .ping: self = .ping(interval: try fields.number(.keepAlive, as: UInt32.self))
        case .state: self = .state(try fields.word(.state, as: ReportedActivity.self))
        case .register:
            self = .register(
                request: try fields.number(.request, as: UInt32.self), topic: try fields.text(.topic, topicLengths),
                fresh: try fields.optional(.fresh) != nil)
        case .unregister:
            self = .unregister(
                request: try fields.number(.request, as: UInt32.self), topic: try fields.text(.topic, topicLengths))
        case .goAway:
            self = .goAway(try Refusal(fields), retryAfter: try fields.number(.retryAfter, as: UInt32.self))
        }
    }
}

extension Refusal {
    fileprivate func write(to fields: inout FieldWriter) {
        fields.put(.refusal, code.rawValue)
        // A receiver would reject a longer text. The text is only for people and may be shortened. A Unicode scalar has
        // at most four bytes in UTF-8.
        let short = text.unicodeScalars.prefix(ProtocolLimits.textLength / 4)
        fields.put(.text, String(String.UnicodeScalarView(short)))
    }

    fileprivate init(_ fields: FieldReader) throws(FrameError) {
        self.init(
            try fields.word(.refusal, as: RefusalCode.self), try fields.text(.text, 0...ProtocolLimits.textLength))
    }
}

extension Message {
    fileprivate func write(to fields: inout FieldWriter) {
        fields.put(.push, id.bytes)
        fields.put(.topic, topic)
        fields.put(.timestamp, timestamp)
        if let expiry { fields.put(.expiry, expiry) }
        fields.put(.priority, priority.rawValue)
        fields.put(.type, type.rawValue)
        if let collapseID { fields.put(.collapseID, collapseID) }
        if isFromStorage { fields.put(.storage, [1]) }
        fields.put(.payload, payload)
    }

    fileprivate init(_ fields: FieldReader) throws(FrameError) {
        self.init(
            id: try fields.identifier(.push), topic: try fields.text(.topic, 1...ProtocolLimits.topicLength),
            timestamp: try fields.number(.timestamp, as: Int64.self),
            expiry: try fields.optional(.expiry) == nil ? nil : try fields.number(.expiry, as: Int64.self),
            priority: try fields.word(.priority, as: PushPriority.self),
            type: try fields.word(.type, as: PushType.self),
            collapseID: try fields.optionalText(.collapseID, 1...ProtocolLimits.collapseLength),
            isFromStorage: try fields.optional(.storage) != nil,
            payload: try fields.bytes(.payload, 0...ProtocolLimits.payloadLength))
    }
}
