import Scheduler
import Testing

@Suite struct LoopbackTests {
    @Test(
        arguments: [
            ("localhost", true), ("127.0.0.1", true), ("127.8.9.10", true), ("[::1]", true), ("example.org", false),
            ("localhost.example", false), ("128.0.0.1", false), ("[::2]", false), ("", false),
        ])
    func `The host of a URL shows whether a transfer stays on this machine`(host: String, isLoopback: Bool) {
        #expect(Loopback.contains(host: host) == isLoopback)
        #expect(Loopback.contains(origin: "http://\(host):8080") == isLoopback)
        #expect(Loopback.contains(origin: "https://\(host):443") == isLoopback)
    }
}
