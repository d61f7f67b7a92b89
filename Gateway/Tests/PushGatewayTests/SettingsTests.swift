import PushGateway
import Testing

@Suite struct SettingsTests {
    @Test(arguments: [
        ("2197", "::", 2_197), ("127.0.0.1:0", "127.0.0.1", 0), ("[::1]:5223", "::1", 5_223),
        ("localhost:65535", "localhost", 65_535),
    ])
    func `R5: An address is a port, or a host and a port`(text: String, host: String, port: Int) {
        #expect(GatewaySettings.Address(text) == GatewaySettings.Address(host: host, port: port))
    }

    @Test(arguments: ["", ":", "x", ":80", "host:", "host:65536", "1:2:x"])
    func `R5: What is no address is refused`(text: String) {
        #expect(GatewaySettings.Address(text) == nil)
    }

    @Test func `R5: Plain providers are for loopback`() {
        #expect(GatewaySettings.Address(host: "127.0.0.2", port: 1).isLoopback)
        #expect(GatewaySettings.Address(host: "::1", port: 1).isLoopback)
        #expect(!GatewaySettings.Address(host: "::", port: 1).isLoopback)
        #expect(!GatewaySettings.Address(host: "10.0.0.1", port: 1).isLoopback)
    }

    @Test func `R5: Metrics are grouped by family, with their kinds`() {
        let metrics = Metrics()
        metrics.count("pushes_total{outcome=\"held\"}")
        metrics.count("pushes_total{outcome=\"stored\"}")
        metrics.count("pushes_total{outcome=\"stored\"}")
        let text = """
            # TYPE devices gauge
            devices 3
            # TYPE pushes_total counter
            pushes_total{outcome="held"} 1
            pushes_total{outcome="stored"} 2

            """
        #expect(metrics.text([(name: "devices", value: 3)]) == text)
    }

    @Test func `R5: Enrolment codes differ, and their hashes say nothing of them`() {
        let codes = (0..<100).map { _ in EnrolmentCode.make() }
        #expect(Set(codes).count == 100)
        #expect(Set(codes.map { EnrolmentCode.hash($0) }).count == 100)
        #expect(codes.allSatisfy { $0.count == 32 })
        #expect(EnrolmentCode.hash(codes[0].uppercased()) == EnrolmentCode.hash(codes[0]))
    }
}
