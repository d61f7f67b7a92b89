import Foundation
import NightshiftCurl
import TestSupport
import Testing

/// Tests of the lifetimes of libcurl's handles. Each runs in its own process, which overwrites freed memory or measures
/// its memory.
@Suite(.timeLimit(.minutes(20))) struct HandleTests {
    @Test func `The idle check skips an exchange that ends when its rate limit unpauses it`() async {
        await #expect(processExitsWith: .success) {
            try overwriteFreedMemory()
            let server = try ScriptedServer([
                .read, .write("HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n"), .writeBytes(3_000_000), .stall,
            ])
            let loop = CurlLoop()
            // The first piece may be so small that the limit allows another one at once.
            for _ in 0..<3 {
                let receiver = LateReceiver(loop)
                var request = CurlRequest(url: server.url())
                request.proxy = ""
                request.socketBodyBytes = 1_000
                request.rateLimit = 100_000
                request.idleTimeout = LateReceiver.idleTimeout
                _ = loop.begin(request, delegate: receiver)
                try await receiver.ended.wait(within: .seconds(60), for: "the exchange's end") { $0 != nil }
                #expect(receiver.ended.read { $0?.code } == 23)
            }
            loop.shutdown()
            withExtendedLifetime(server) {}
        }
    }

    @Test func `Exchanges that begin after the end of their loop keep no memory`() async {
        await #expect(processExitsWith: .success) {
            let loop = CurlLoop()
            loop.shutdown()
            let request = CurlRequest(url: "http://127.0.0.1:1/")
            let counter = EndCounter()
            func begin(_ count: Int) async throws {
                let before = counter.count.read { $0 }
                for _ in 0..<count { _ = loop.begin(request, delegate: counter) }
                try await counter.count.wait(within: .seconds(60), for: "the ends") { $0 == before + count }
            }
            try await begin(200)
            let before = try residentBytes()
            for _ in 0..<100 { try await begin(200) }
            // A libcurl handle needs five thousand bytes, so all handles would need a hundred million.
            #expect(try residentBytes() - before < 30_000_000)
        }
    }
}

/// Makes the memory allocator overwrite all freed memory (M_PERTURB of mallopt(3)), so that any use of it fails.
private func overwriteFreedMemory() throws {
    typealias SetOption = @convention(c) (Int32, Int32) -> Int32
    let symbol = try #require(dlsym(nil, "mallopt"))
    let setOption = unsafeBitCast(symbol, to: SetOption.self)
    let result = setOption(-6, 0x5a)
    #expect(result == 1)
}

/// Returns the resident size from proc_pid_statm(5).
private func residentBytes() throws -> Int {
    let words = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
    return try #require(Int(words[1])) * sysconf(Int32(_SC_PAGESIZE))
}

/// A delegate that accepts one piece and ends the exchange when the next one arrives. After the first piece it
/// repeatedly blocks the loop, so that the loop checks its deadlines only after they have passed.
private final class LateReceiver: CurlDelegate {
    /// The idle timeout in seconds. Progress is sampled four times within it.
    static let idleTimeout: Double = 4

    let ended = Watched<CurlEnd?>(nil)
    private let hasFirst = Watched(false)
    private let loop: CurlLoop

    init(_ loop: CurlLoop) {
        self.loop = loop
    }

    func received(interim head: CurlHead) {}

    func received(head: CurlHead) {}

    func received(body: UnsafeRawBufferPointer) -> CurlBodyAnswer {
        let isFirst = hasFirst.update { hasFirst in
            defer { hasFirst = true }
            return !hasFirst
        }
        guard isFirst else { return .stop }
        holdUp()
        return .taken
    }

    func takesRest(_ bytes: Int64) -> Bool { true }

    func received(from body: CurlSocketBody, atMost count: Int) -> CurlBodyAnswer { .stop }

    func sent(_ bytes: Int64) {}

    func ended(_ end: CurlEnd) {
        ended.update { $0 = end }
    }

    /// Delays the loop between two samples.
    private func holdUp() {
        loop.perform { [self] in
            guard ended.read({ $0 == nil }) else { return }
            blockThread(for: .milliseconds(1_100), because: "The moments at which the loop is to look pass meanwhile.")
            holdUp()
        }
    }
}

private final class EndCounter: CurlDelegate {
    let count = Watched(0)

    func received(interim head: CurlHead) {}

    func received(head: CurlHead) {}

    func received(body: UnsafeRawBufferPointer) -> CurlBodyAnswer { .taken }

    func sent(_ bytes: Int64) {}

    func ended(_ end: CurlEnd) {
        count.update { $0 += 1 }
    }
}
