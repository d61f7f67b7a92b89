import Foundation
import HTTPTypes
import NIOCore
import NightshiftAPI
import Testing

@testable import LocalAPI

@Suite struct IdleTests {
    /// How often each thread of this process other than the calling one has run, by its id and name.
    private static func wakeups() -> [String: Int] {
        let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
        let own = link?.split(separator: "/").last.map(String.init)
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        var counts: [String: Int] = [:]
        for thread in threads where thread != own {
            let status = (try? String(contentsOfFile: "/proc/self/task/\(thread)/status", encoding: .utf8)) ?? ""
            let fields = status.split(separator: "\n").map { $0.split(separator: "\t") }
            let name = fields.first?.last ?? ""
            counts["\(thread) \(name)"] = fields.filter { $0[0].hasSuffix("ctxt_switches:") }
                .compactMap { Int($0[1]) }.reduce(0, +)
        }
        return counts
    }

    /// Which threads run within `seconds`, with how often they did.
    private static func awake(for seconds: UInt32) -> [String: Int] {
        let before = wakeups()
        usleep(seconds * 1_000_000)
        return wakeups().filter { $0.value != before[$0.key] }
    }

    /// In a process of its own: nothing else may run beside the server. What ticks before there is a server is not
    /// counted: libdispatch looks after its threads every second in every process that uses it.
    @Test func `An idle server wakes for nothing`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let foreign = IdleTests.awake(for: 2)
            let events = Route(.get, "/events") { call in
                EventStream.response(
                    to: call.request, events: AsyncStream<ServiceEvent> { _ in }, place: try EventStreams().enter())
            }
            var limits = ConnectionLimits()
            limits.idleTimeout = .seconds(1)
            try await withServer(routes: [.hello, events], limits: limits) { server in
                _ = try await server.request("GET", "/hello")
                let reader = try server.client()
                try await reader.send(UnixClient.head("GET", "/events"))
                _ = try await reader.receive(through: ": connected")
                // Past the one timer that watched the request come in.
                usleep(2_000_000)
                let awake = IdleTests.awake(for: 3).keys.filter { foreign[$0] == nil }
                // The count counts: a request is seen on the thread of the sockets.
                let before = IdleTests.wakeups()
                _ = try await server.request("GET", "/hello")
                let after = IdleTests.wakeups()
                guard after.contains(where: { $0.key.contains("NIO-ELT") && $0.value != before[$0.key] }) else {
                    exit(1)
                }
                FileHandle.standardError.write(Data(awake.joined(separator: ", ").utf8))
            }
        }
        let errors = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(errors == "")
    }
}
