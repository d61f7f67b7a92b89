import PushProtocol
import PushRouting
import Testing

@Suite struct RequestRulesTests {
    static func rejection(
        _ method: String = "POST", _ path: String = "/3/device/00ff", _ fields: [(String, String)] = [],
        payload: String = #"{"aps":{"alert":"x"}}"#
    ) -> Rejection? {
        do throws(Rejection) {
            _ = try push(method, path, fields, payload: payload)
            return nil
        } catch {
            return error
        }
    }

    static func push(
        _ method: String = "POST", _ path: String = "/3/device/00ff", _ fields: [(String, String)] = [],
        payload: String = #"{"aps":{"alert":"x"}}"#
    ) throws(Rejection) -> Push {
        let request = try ProviderRequest(method: method, path: path, fields: fields.map { (name: $0.0, value: $0.1) })
        let headers = try PushHeaders(request)
        if let topic = headers.topic { _ = try TopicName(topic, type: headers.type) }
        return try Push(
            headers, payload: Array(payload.utf8), device: DeviceID(high: 1, low: 1), topic: "t",
            id: headers.id ?? PushID(high: 9, low: 9), now: .at(0))
    }

    @Test(arguments: [
        ("GET", "/3/device/00ff", Rejection.methodNotAllowed), ("POST", "/", .badPath),
        ("POST", "/2/device/00ff", .badPath),
        ("POST", "/3/devices/00ff", .badPath), ("POST", "/3/device/a/b", .badPath), ("POST", "/3/device/a?b", .badPath),
        ("POST", "/3/device/", .missingDeviceToken), ("POST", "/3/device", .missingDeviceToken),
    ])
    func `R5: The gateway refuses unknown paths and methods`(method: String, path: String, expected: Rejection) {
        #expect(Self.rejection(method, path) == expected)
    }

    @Test(arguments: [
        ("apns-id", "no", Rejection.badMessageId), ("apns-expiration", "soon", .badExpirationDate),
        ("apns-expiration", "-1", .badExpirationDate), ("apns-expiration", "+1", .badExpirationDate),
        ("apns-priority", "7", .badPriority), ("apns-priority", "", .badPriority),
        ("apns-push-type", "loud", .invalidPushType), ("apns-push-type", "unifiedpush", .invalidPushType),
        ("apns-push-type", "UnifiedPush", .invalidPushType),
        ("apns-collapse-id", String(repeating: "x", count: 65), .badCollapseId),
        ("apns-topic", "with space", .badTopic), ("apns-topic", "", .badTopic),
    ])
    func `R5: The gateway refuses a header that breaks the rule of its field`(
        name: String, value: String, expected: Rejection
    ) {
        #expect(Self.rejection(fields: [(name, value)]) == expected)
    }

    static func rejection(fields: [(String, String)]) -> Rejection? { rejection("POST", "/3/device/00ff", fields) }

    @Test func `R5: Identifiers are equal in upper and lower case`() throws {
        func request(_ path: String, _ fields: (String, String)...) throws -> ProviderRequest {
            try ProviderRequest(method: "POST", path: path, fields: fields.map { (name: $0.0, value: $0.1) })
        }
        #expect(try request("/3/device/00FFaB").token == "00ffab")
        let headers = try PushHeaders(
            request(
                "/3/device/a", ("apns-push-type", "Background"),
                ("apns-id", "0F8FAD5B-D9CB-469F-A165-70867728950E")))
        #expect(headers.type == .background)
        #expect(headers.id?.description == "0f8fad5b-d9cb-469f-a165-70867728950e")
        for scheme in ["bearer x.Y.z", "Bearer x.Y.z", "BEARER  x.Y.z"] {
            #expect(try request("/3/device/a", ("authorization", scheme)).bearer() == "x.Y.z")
        }
    }

    @Test func `R5: The gateway refuses a repeated header`() {
        #expect(Self.rejection(fields: [("apns-id", "a"), ("apns-id", "a")]) == .duplicateHeaders)
        #expect(Self.rejection(fields: [("x-own", "a"), ("x-own", "a")]) == nil)
    }

    @Test func `R4, R5: A background push has priority 5`() throws {
        let silent = #"{"aps":{"content-available":1}}"#
        #expect(Self.rejection(fields: [("apns-push-type", "background"), ("apns-priority", "10")]) == .badPriority)
        let push = try Self.push("POST", "/3/device/00ff", [("apns-push-type", "background")], payload: silent)
        #expect(push.priority == .considerate && push.isSilent)
        let inferred = try Self.push(payload: silent)
        #expect(inferred.type == .background && inferred.isSilent)
        let seen = try Self.push(payload: #"{"aps":{"content-available":1,"alert":"x"}}"#)
        #expect(seen.type == .alert && !seen.isSilent && seen.priority == .immediate)
    }

    @Test(arguments: [#""sound":"""#, #""alert":"""#, #""alert":null"#, #""alert":{}"#, #""badge":null"#])
    func `R5: A push without visible content counts as silent, whatever its type`(
        member: String
    ) throws {
        let payload = #"{"aps":{"content-available":1,\#(member)}}"#
        let inferred = try Self.push(payload: payload)
        #expect(inferred.type == .background && inferred.isSilent)
        let claimed = try Self.push("POST", "/3/device/00ff", [("apns-push-type", "alert")], payload: payload)
        #expect(claimed.type == .alert && claimed.isSilent)
    }

    @Test func `R5: Payloads are JSON objects of at most 4,096 bytes, or 5,120 for voip`() {
        #expect(Self.rejection(payload: "") == .payloadEmpty)
        #expect(Self.rejection(payload: "[1]") == .payloadEmpty)
        #expect(Self.rejection(payload: "{") == .payloadEmpty)
        let filled = { (count: Int) in #"{"a":""# + String(repeating: "x", count: count - 8) + #""}"# }
        #expect(Self.rejection(payload: filled(4_096)) == nil)
        #expect(Self.rejection(payload: filled(4_097)) == .payloadTooLarge)
        #expect(Self.rejection("POST", "/3/device/a", [("apns-push-type", "voip")], payload: filled(5_120)) == nil)
        #expect(
            Self.rejection("POST", "/3/device/a", [("apns-push-type", "voip")], payload: filled(5_121))
                == .payloadTooLarge)
    }

    @Test func `R5: The lifetime of a push is one attempt, a given time, or thirty days`() throws {
        #expect(try Self.push("POST", "/3/device/a", [("apns-expiration", "0")]).lifetime == .once)
        #expect(
            try Self.push("POST", "/3/device/a", [("apns-expiration", "1700000005")]).lifetime == .until(1_700_000_005))
        let latest = Push.Lifetime.until(1_700_000_000 + 30 * 86_400)
        #expect(try Self.push().lifetime == latest)
        #expect(try Self.push("POST", "/3/device/a", [("apns-expiration", "99999999999")]).lifetime == latest)
    }

    @Test(arguments: PushType.allCases)
    func `R5: A topic has the suffix of its push type`(type: PushType) throws {
        let suffix = type.topicSuffix ?? ""
        #expect(try TopicName("org.example.Mail" + suffix, type: type).base == "org.example.Mail")
        if type.topicSuffix != nil {
            #expect(throws: Rejection.badTopic) { try TopicName("org.example.Mail", type: type) }
            #expect(throws: Rejection.badTopic) { try TopicName(suffix, type: type) }
        }
    }

    @Test func `R5: Every reason for a refusal has its documented spelling and status`() {
        #expect(Rejection.allCases.count == 32)
        #expect(Set(Rejection.allCases.map(\.reason)).count == 32)
        #expect(Rejection.unregistered.status == 410 && Rejection.badTopic.status == 400)
    }

    @Test func `R5: A provider's token is valid for an hour, and renewed at most every 20 minutes`() {
        func token(_ issuedAt: Int64, team: String = "TEAM", key: String = "KEY") -> ProviderSession.Token {
            ProviderSession.Token(key: key, team: team, issuedAt: issuedAt)
        }
        var session = ProviderSession()
        #expect(session.judge(token(0), now: 3_601) == .expiredProviderToken)
        #expect(session.judge(token(.min), now: 3_601) == .expiredProviderToken)
        #expect(session.judge(token(.max), now: 3_601) == .invalidProviderToken)
        #expect(session.judge(token(100), now: 39) == .invalidProviderToken)
        #expect(!session.isAuthenticated)
        #expect(session.judge(token(100), now: 40) == nil)
        #expect(session.isAuthenticated)
        #expect(session.judge(token(100, team: "OTHER"), now: 40) == .invalidProviderToken)
        #expect(session.judge(token(100, key: "OTHER"), now: 40) == .unrelatedKeyIdInToken)
        #expect(session.judge(token(1_300), now: 1_300) == nil)
        #expect(session.judge(token(2_499), now: 2_499) == .tooManyProviderTokenUpdates)
        // The refusal is permanent.
        #expect(session.judge(token(1_300), now: 2_500) == .tooManyProviderTokenUpdates)
    }

    @Test func `R5: A provider's token is invalid after its expiry and before its start`() {
        let token = ProviderSession.Token(key: "KEY", team: "TEAM", issuedAt: 100, expiresAt: 200, notBefore: 150)
        var session = ProviderSession()
        #expect(session.judge(token, now: 89) == .invalidProviderToken)
        // A provider's clock may be up to a minute ahead.
        #expect(session.judge(token, now: 90) == nil)
        #expect(session.judge(token, now: 199) == nil)
        #expect(session.judge(token, now: 200) == .expiredProviderToken)
    }

    @Test func `R5: Errors slow a provider and end its connection, but successes cancel errors`() {
        let settings = ProviderConduct.Settings(slowFrom: 4, endFrom: 6)
        var conduct = ProviderConduct()
        let first = (0..<3).map { _ in conduct.answered(400, settings) }
        #expect(first == [.unchanged, .unchanged, .unchanged])
        #expect(conduct.answered(410, settings) == .unchanged)
        #expect(conduct.answered(403, settings) == .slow)
        #expect(conduct.answered(200, settings) == .unchanged)
        #expect(conduct.answered(200, settings) == .restore)
        var verdicts: [ProviderConduct.Verdict] = []
        for _ in 0..<4 { verdicts.append(conduct.answered(400, settings)) }
        #expect(verdicts == [.unchanged, .slow, .unchanged, .end])
    }
}
