import Foundation
import NightshiftAPI
import Push
import Testing

/// R3: Parsing of payloads and enrolment addresses.
@Suite struct PayloadTests {
    private static let date = Date(timeIntervalSince1970: 1_800_000_000)

    private static func read(_ text: String) -> PushPayload? { PushPayload(Array(text.utf8)) }

    @Test func `R3: A notification contains every visible key of aps`() throws {
        let text = """
            {"aps":{"alert":{"title":"T","subtitle":"S","body":"B","loc-key":"K"},"badge":3,"sound":"chime",
            "thread-id":"t","category":"c","interruption-level":"time-sensitive","mutable-content":1},"own":[1]}
            """
        let payload = try #require(Self.read(text))
        let notification = payload.notification(identifier: "i", date: Self.date)
        #expect(notification.identifier == "i" && notification.date == Self.date && notification.isRemote)
        #expect([notification.title, notification.subtitle, notification.body] == ["T", "S", "B"])
        #expect(notification.badge == 3 && notification.sound == "chime")
        #expect(notification.thread == "t" && notification.category == "c" && notification.level == .timeSensitive)
        #expect(notification.userInfo == text)
        #expect(payload.hasAlert && !payload.isSilent && !payload.wakesApp)
    }

    @Test(arguments: [
        (#"{"aps":{"alert":"B"}}"#, true, false), (#"{"aps":{"alert":""}}"#, false, false),
        (#"{"aps":{"content-available":1}}"#, false, true), (#"{"aps":{"content-available":true}}"#, false, true),
        (#"{"aps":{"content-available":0}}"#, false, false),
        (#"{"aps":{"badge":0,"content-available":1}}"#, true, true),
        (#"{"aps":{"sound":{"name":"s","critical":1,"volume":0.5}}}"#, true, false),
        (#"{"aps":{"alert":{"loc-key":"K","loc-args":["a"]},"content-available":1}}"#, true, true),
        (#"{"aps":{"alert":7,"badge":"x","sound":[],"thread-id":1,"content-available":"1"}}"#, false, false),
        (#"{"alert":"not there"}"#, false, false), ("{}", false, false),
        (#"{"aps":{"alert":{},"sound":"","badge":null,"content-available":1}}"#, false, true),
        (#"{"aps":{"alert":" \n\u200b","content-available":1}}"#, false, true),
        (#"{"aps":{"alert":"B"},"aps":{"content-available":1}}"#, false, true),
        (#"{"aps":{"content-available":1},"aps":{"alert":"B"}}"#, true, false),
    ])
    func `R3: A payload has an alert for the user, wakes the app, or does both`(
        _ text: String, hasAlert: Bool, wakesApp: Bool
    )
        throws
    {
        let payload = try #require(Self.read(text))
        #expect(payload.hasAlert == hasAlert && payload.wakesApp == wakesApp)
        #expect(payload.isSilent == (wakesApp && !hasAlert))
    }

    @Test func `R3: A localisation key replaces an empty text of an alert`() throws {
        let payload = try #require(Self.read(#"{"aps":{"alert":{"title":"","title-loc-key":"K","body":" "}}}"#))
        #expect(payload.title == "K" && payload.body == "" && payload.hasText)
    }

    @Test func `R3: A long text is cut between characters`() throws {
        let payload = try #require(Self.read(#"{"aps":{"alert":"\#(String(repeating: "ü", count: 2_500))"}}"#))
        #expect(payload.body.utf8.count == Limits.notificationText && payload.body.allSatisfy { $0 == "ü" })
    }

    @Test func `R3: Invalid UTF-8 is not a payload`() {
        #expect(PushPayload([0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D]) == nil)
    }

    // MARK: - Addresses

    @Test(arguments: [
        ("nightshift-push://push.example.org:2196/abc-D_1", "push.example.org", 2_196, "abc-D_1"),
        ("nightshift-push://[::1]:9/x", "::1", 9, "x"),
        ("nightshift-push://127.0.0.1:65535/a/b", "127.0.0.1", 65_535, "a/b"),
    ])
    func `R3: An enrolment address is parsed`(_ text: String, host: String, port: Int, code: String) throws {
        let address = try PushAddress(text)
        #expect(address.host == host && address.port == port && address.code == code)
    }

    @Test(arguments: [
        "", "https://push.example:1/c", "nightshift-push://push.example:1", "nightshift-push://push.example/c",
        "nightshift-push://push.example:1/", "nightshift-push://push.example:0/c", "nightshift-push://:1/c",
        "nightshift-push://push.example:65536/c", "nightshift-push://user@push.example:1/c",
        "nightshift-push://push.example:1/\(String(repeating: "c", count: 65))", "nightshift-push://a b:1/c",
    ])
    func `R3: The refusal of an invalid enrolment address says what to do`(_ text: String) {
        let problem = #expect(throws: Problem.self) { try PushAddress(text) }
        #expect(problem?.status == 422 && problem?.detail?.contains("nightshift-gateway enrolment create") == true)
    }
}
