import Glibc
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ChaosProxyTests {
    let origin: OriginServer
    let proxy: ChaosProxy
    let directory: TemporaryDirectory
    let content = Content.seeded(size: 3_000_001, seed: 7)

    init() throws {
        origin = try OriginServer()
        origin.serve("/file", Resource(content: content))
        proxy = try ChaosProxy(to: origin.port)
        directory = try TemporaryDirectory()
    }

    func get(_ arguments: String...) async throws -> Fetched {
        try await Fetched.byCurl(proxy.url("/file"), arguments, in: directory)
    }

    @Test func `The proxy forwards all bytes and counts them`() async throws {
        let fetched = try await get()
        #expect(try content.firstMismatch(inFileAt: fetched.file) == nil)
        #expect(proxy.totals.connections == 1)
        #expect(proxy.totals.bytesUp > 50 && proxy.totals.bytesDown > content.size)
    }

    @Test func `The proxy delays the bytes in each direction by the configured latency`() async throws {
        proxy.change { $0.latency = .milliseconds(100) }
        let start = ContinuousClock.now
        #expect(try content.firstMismatch(inFileAt: try await get().file) == nil)
        #expect(start.duration(to: .now) >= .milliseconds(200))
    }

    @Test func `The proxy limits the total bandwidth of two connections`() async throws {
        proxy.change { $0.bytesPerSecond = 6_000_000 }
        let start = ContinuousClock.now
        async let one = get()
        async let other = get()
        for fetched in try await [one, other] { #expect(try content.firstMismatch(inFileAt: fetched.file) == nil) }
        let taken = start.duration(to: .now)
        #expect(taken > .milliseconds(900))
    }

    @Test func `B4: The proxy can make one connection slower than the others`() async throws {
        proxy.change { conditions in
            conditions.bytesPerSecondEach = 100_000_000
            conditions.bytesPerSecondOf = [1: 3_000_000]
        }
        for _ in 0...1 {
            let start = ContinuousClock.now
            let (number, fetched) = (proxy.totals.connections, try await get())
            #expect(try content.firstMismatch(inFileAt: fetched.file) == nil)
            #expect(number == 0 || start.duration(to: .now) > .milliseconds(900))
        }
    }

    @Test func `T5: The first connection ends after the configured number of bytes`() async throws {
        proxy.change { $0.firstCut = 1_000_000 }
        #expect([18, 56].contains(try await get().code))
        #expect(proxy.totals.cuts == 1 && proxy.totals.bytesDown < 1_200_000)
        #expect(try content.firstMismatch(inFileAt: try await get().file) == nil)
    }

    @Test func `T8: The proxy counts bytes that a client has not read when its connection is cut`() async throws {
        proxy.change { $0.firstCut = 1_000_000 }
        let reader = try ChildProcess(
            "/bin/bash",
            arguments: [
                "-c",
                """
                exec 3<>/dev/tcp/127.0.0.1/\(proxy.port) &&
                    printf 'GET /file HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && head -c 1000 <&3 && exec sleep 600
                """,
            ], output: .file(directory.path("output")), errors: .file(directory.path("errors")))
        defer { reader.kill(SIGKILL) }
        try await proxy.wait(for: "the cut") { $0.cuts == 1 && $0.openConnections == 0 }
        let totals = proxy.totals
        #expect(totals.bytesCutOff >= totals.bytesDown - 1_000 && totals.bytesCutOff <= totals.bytesDown, "\(totals)")
    }

    @Test(arguments: [true, false])
    func `The proxy ends all connections with a reset or a normal close`(reset: Bool) async throws {
        let gate = Gate()
        origin.setBehaviours([.holdAfter(1_000_000, gate)], for: "/file")
        async let fetched = get()
        try await proxy.wait(for: "the first bytes") { $0.bytesDown > 1_000_000 }
        proxy.killConnections(reset: reset)
        #expect(proxy.totals.openConnections == 0)
        // curl exits with 56 for a reset, and with 18 for a short body.
        #expect(try await fetched.code == (reset ? 56 : 18))
        gate.open()
    }

    @Test func `A black hole forwards no bytes until it is switched off`() async throws {
        proxy.change { $0.isBlackHole = true }
        #expect(try await get("--max-time", "0.3").code == 28)
        #expect(origin.requests.isEmpty)
        proxy.change { $0.isBlackHole = false }
        #expect(try await get().status == 200)
    }

    @Test func `A transfer continues after a black hole without losing a byte`() async throws {
        let gate = Gate()
        origin.setBehaviours([.holdAfter(1_000_000, gate)], for: "/file")
        async let fetched = get()
        try await proxy.wait(for: "the first bytes") { $0.bytesDown > 1_000_000 }
        proxy.change { $0.isBlackHole = true }
        let before = proxy.totals.bytesDown
        gate.open()
        try await origin.wait(for: "the origin's last byte", path: "/file") { $0.bodyBytesSent > 1_000_000 }
        #expect(proxy.totals.bytesDown - before <= 65_536)
        proxy.change { $0.isBlackHole = false }
        #expect(try content.firstMismatch(inFileAt: try await fetched.file) == nil)
    }

    @Test func `The proxy refuses connections until it accepts them again`() async throws {
        proxy.stopAccepting()
        #expect(try await get().code == 7)
        try proxy.startAccepting()
        #expect(try await get().code == 0)
    }

    @Test func `The proxy ends a connection whose server does not exist`() async throws {
        origin.stop()
        #expect(try await get().code != 0)
        try await proxy.wait(for: "the connection's end") { $0.openConnections == 0 }
    }

    @Test func `The proxy cuts the same connections for the same seed`() async throws {
        func codes() async throws -> [Int32?] {
            let proxy = try ChaosProxy(
                to: origin.port, conditions: .init(cuts: .init(seed: 11, meanBytes: content.size)))
            var codes: [Int32?] = []
            for _ in 0..<12 {
                codes.append(try await Fetched.byCurl(proxy.url("/file"), [], in: directory).code == 0 ? 0 : 1)
            }
            #expect(proxy.totals.cuts == codes.count { $0 == 1 })
            return codes
        }
        let first = try await codes()
        #expect(first.contains(0) && first.contains(1))
        #expect(try await codes() == first)
    }
}
