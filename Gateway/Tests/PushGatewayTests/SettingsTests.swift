import Foundation
import PushGateway
import Testing

@Suite struct SettingsTests {
    @Test(arguments: [
        ("2197", "::", 2_197), ("127.0.0.1:0", "127.0.0.1", 0), ("[::1]:5223", "::1", 5_223),
        ("localhost:65535", "localhost", 65_535),
    ])
    func `R5: An address may be a port, or a host and a port`(text: String, host: String, port: Int) {
        #expect(GatewaySettings.Address(text) == GatewaySettings.Address(host: host, port: port))
    }

    @Test(arguments: ["", ":", "x", ":80", "host:", "host:65536", "1:2:x"])
    func `R5: An invalid address is refused`(text: String) {
        #expect(GatewaySettings.Address(text) == nil)
    }

    @Test func `R5: The gateway accepts providers without TLS only on loopback`() {
        #expect(GatewaySettings.Address(host: "127.0.0.2", port: 1).isLoopback)
        #expect(GatewaySettings.Address(host: "::1", port: 1).isLoopback)
        #expect(!GatewaySettings.Address(host: "::", port: 1).isLoopback)
        #expect(!GatewaySettings.Address(host: "10.0.0.1", port: 1).isLoopback)
    }

    @Test func `R5: Metrics are grouped by family, each with its type`() {
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

    @Test func `R5: doctor reports why a certificate is unusable`() {
        let now = Date(timeIntervalSince1970: 1_700_000_000)
        func finding(_ start: Double, _ end: Double) -> GatewayFinding {
            let day = 86_400.0
            return GatewayChecks.validity(
                "The certificate", now.addingTimeInterval(start * day), now.addingTimeInterval(end * day), now: now)
        }
        #expect(finding(-1, 90).isGood && finding(-1, 90).text.contains("is valid until 2024-02-12"))
        #expect(!finding(-1, 2.5).isGood && finding(-1, 2.5).text.contains("expires in 2 days, at 2023-11-17"))
        #expect(finding(-1, 1.5).text.contains("expires in 1 day,"))
        #expect(finding(-1, 0.5).text.contains("expires in less than a day,"))
        #expect(!finding(-2, -1).isGood && finding(-2, -1).text.contains("expired at 2023-11-13"))
        #expect(!finding(1, 90).isGood && finding(1, 90).text.contains("is not valid before 2023-11-15"))
    }

    @Test(arguments: [
        (EACCES, "You may not use"), (ECONNREFUSED, "No gateway answers"), (EMFILE, "cannot be reached"),
    ])
    func `R5: A command that cannot reach the gateway reports why`(code: Int32, words: String) {
        #expect(AdministrationClient.unreachable("/run/x", code).description.contains(words))
    }

    @Test func `R5: Enrolment codes differ, and a hash does not reveal its code`() {
        let codes = (0..<100).map { _ in EnrolmentCode.make() }
        #expect(Set(codes).count == 100)
        #expect(Set(codes.map { EnrolmentCode.hash($0) }).count == 100)
        #expect(codes.allSatisfy { $0.count == 32 })
        #expect(EnrolmentCode.hash(codes[0].uppercased()) == EnrolmentCode.hash(codes[0]))
    }
}
