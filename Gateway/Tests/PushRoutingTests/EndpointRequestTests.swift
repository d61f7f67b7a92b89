import PushProtocol
import PushRouting
import Testing

@Suite struct EndpointRequestTests {
    static let token = String(repeating: "a", count: 64)

    func headers(_ fields: (String, String)...) throws -> MessageHeaders {
        let request = try EndpointRequest(
            method: "POST", path: "/up/\(Self.token)", fields: fields.map { (name: $0.0, value: $0.1) })
        guard case .push(let headers) = request.action else { throw EndpointAnswer.failed }
        #expect(request.token == Self.token)
        return headers
    }

    func status(_ method: String, _ path: String, _ fields: (String, String)...) -> Int? {
        do throws(EndpointAnswer) {
            _ = try EndpointRequest(method: method, path: path, fields: fields.map { (name: $0.0, value: $0.1) })
            return nil
        } catch {
            return error.status
        }
    }

    @Test func `R5, B7: A message has a lifetime of at most thirty days`() throws {
        #expect(try headers(("ttl", "0")).lifetime == 0)
        #expect(try headers(("ttl", "77")).lifetime == 77)
        #expect(try headers(("ttl", "2592001")).lifetime == 2_592_000)
        #expect(try headers(("ttl", String(repeating: "9", count: 99))).lifetime == 2_592_000)
        for text in ["", "-1", "+1", "1.0", "x", "1 ", "٣"] {
            #expect(status("POST", "/up/a", ("ttl", text)) == 400, "\(text)")
        }
        #expect(status("POST", "/up/a") == 400)
        #expect(status("POST", "/up/a", ("ttl", "1"), ("ttl", "1")) == 400)
    }

    @Test(
        arguments: zip(MessageHeaders.Urgency.allCases, [PushPriority.whenAwake, .whenAwake, .considerate, .immediate]))
    func `R5, B7: The urgency of a message determines its priority`(
        urgency: MessageHeaders.Urgency, priority: PushPriority
    ) throws {
        #expect(try headers(("ttl", "1"), ("urgency", urgency.rawValue)).urgency.priority == priority)
        #expect(try headers(("ttl", "1")).urgency == .normal)
        #expect(status("POST", "/up/a", ("ttl", "1"), ("urgency", "now")) == 400)
    }

    @Test func `R5, B7: An unknown path gets another error than an unknown method`() {
        #expect(status("GET", "/up/a") == nil && status("HEAD", "/up/a") == nil)
        #expect(status("DELETE", "/up/a/\(PushID(high: 1, low: 2))") == nil)
        #expect(status("DELETE", "/up/a") == 405 && status("GET", "/up/a/\(PushID(high: 1, low: 2))") == 405)
        for path in ["/up/", "/up", "/u", "/up//", "/up/a/b", "/up/a/b/c", "/up/\(String(repeating: "a", count: 129))"]
        {
            #expect(status("GET", path) == 404, "\(path)")
        }
    }

    @Test func `R5, B7: The ids of endpoints and messages are equal in upper and lower case`() throws {
        let id = PushID(high: 0xABCD, low: 0xEF)
        let request = try EndpointRequest(
            method: "DELETE", path: "/up/00FFAB/\(id.description.uppercased())", fields: [])
        guard case .withdraw(id) = request.action else { throw EndpointAnswer.failed }
        #expect(request.token == "00ffab")
        #expect(try headers(("ttl", "1"), ("urgency", "Very-Low")).urgency == .veryLow)
    }

    @Test func `R5, B7: The gateway does not change a message, and its topic determines its slot`() throws {
        let id = PushID(high: 1, low: 2)
        func push(_ count: Int, topic: String? = nil, ttl: Int64 = 5) throws -> Push {
            var headers = try headers(("ttl", "\(ttl)"))
            headers.topic = topic
            return try Push(
                headers, body: [UInt8](repeating: 200, count: count), device: DeviceID(high: 0, low: 1), topic: "t",
                id: id,
                now: .at(0))
        }
        #expect(try push(1).slot(keepsEach: true) == .message(id))
        #expect(try push(4_096, topic: "x").slot(keepsEach: true) == .named("x"))
        #expect(try push(1).payload == [200] && push(1).type == .unifiedpush && !push(1).isSilent)
        #expect(try push(1, ttl: 0).lifetime == .once)
        #expect(try push(1).lifetime == .until(RouteTime.at(5).wallSeconds))
        #expect(throws: EndpointAnswer.self) { try push(0) }
        #expect(throws: EndpointAnswer.self) { try push(4_097) }
    }

    @Test func `R5: A slot is parsed from its own text`() {
        let id = PushID(high: 1, low: 2)
        for slot in [Slot.latest, .alert(id), .silent, .held, .message(id), .named("a-_9"), .named("latest")] {
            #expect(Slot(text: slot.text) == slot)
            #expect(slot.text.utf8.allSatisfy { $0 != UInt8(ascii: ".") && $0 > 0x20 && $0 < 0x7F })
        }
        #expect(Slot(text: "") == nil && Slot(text: "m-x") == nil)
    }
}
