import Testing

@testable import Aria2Bridge

/// B7: Who may use the bridge for clients of aria2.
@Suite struct BridgeGateTests {
    private let gate = BridgeGate(allowedOrigins: ["http://127.0.0.1:8080"])

    @Test(arguments: ["127.0.0.1:6800", "localhost:6800", "[::1]:6800", "localhost", "localhost:7000"])
    func `Programs of this machine are admitted`(host: String) {
        #expect(gate.decide(hosts: [host], origins: []) == .admitted(origin: nil))
        // websocket-client sends this.
        #expect(gate.decide(hosts: [host], origins: ["http://" + host]) == .admitted(origin: nil))
    }

    @Test func `Another host name is refused, because a web page may have rebound it`() {
        for host in [
            "evil.example:6800", "evil.example", "", "localhost.evil.example", "evil.example@localhost", "localhost:",
            "localhost:6800:6800", "localhost:evil.example", "127.0.0.1:6800 ",
        ] {
            #expect(gate.decide(hosts: [host], origins: []) == .refused(.host))
        }
        #expect(gate.decide(hosts: [], origins: []) == .refused(.host))
        #expect(gate.decide(hosts: ["127.0.0.1:6800", "x"], origins: []) == .refused(.host))
    }

    @Test(arguments: ["http://evil.example", "null", "https://127.0.0.1:6800", "http://127.0.0.1:8081", ""])
    func `Web pages are refused, unless the user allowed them`(origin: String) {
        #expect(gate.decide(hosts: ["127.0.0.1:6800"], origins: [origin]) == .refused(.origin))
        #expect(
            gate.decide(hosts: ["127.0.0.1:6800"], origins: ["http://127.0.0.1:8080", origin]) == .refused(.origin))
    }

    @Test func `Allowed pages and extensions may read responses`() {
        for origin in ["http://127.0.0.1:8080", "chrome-extension://abc", "moz-extension://abc"] {
            #expect(gate.decide(hosts: ["localhost:6800"], origins: [origin]) == .admitted(origin: origin))
        }
    }
}
