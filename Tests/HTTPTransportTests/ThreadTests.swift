import Foundation
import NightshiftAPI
import TestSupport
import Testing
import Transfers

@testable import HTTPTransport

/// Tests of TLS on several threads.
@Suite(.serialized, .timeLimit(.minutes(20))) struct ThreadTests {
    private let content = SeededContent(seed: 11, size: 100_000_000)

    private struct SecureServer {
        let server: WebServer
        let certificates: TestCertificates

        init(_ content: SeededContent) async throws {
            certificates = try await TestCertificates()
            var options = WebServer.NginxOptions()
            options.certificates = certificates
            // The header field identifies the connection.
            options.extra = "add_header X-Connection $connection always;"
            server = try await WebServer.nginx(options)
            try server.publish("file", .seeded(size: content.size, seed: content.seed))
            try server.publish("small", .seeded(size: 1_000, seed: 1))
        }

        func request(_ name: String) -> WireRequest { .direct(server.url("/\(name)"), certificates: certificates) }
    }

    /// Returns a receiver that records the thread on which each head arrives.
    private func receiver(_ file: TestFile, _ threads: Watched<[UInt]>) -> Receiver {
        Receiver { _ in
            threads.update { $0.append(UInt(pthread_self())) }
            return .file(file.sink())
        }
    }

    @Test(.enabled(if: ProcessInfo.processInfo.activeProcessorCount > 1))
    func `T4: Simultaneous secure exchanges have threads of their own`() async throws {
        let secure = try await SecureServer(content)
        let transport = TestTransport()
        let threads = Watched<[UInt]>([])
        let files = try (0..<2).map { _ in try TestFile(ceiling: 1_000_000) }
        let receivers = files.map { receiver($0, threads) }
        let handles = receivers.map { transport.begin(secure.request("file"), $0) }
        for receiver in receivers { try await receiver.head() }
        #expect(Set(threads.read { $0 }).count == 2)
        for file in files { file.ceiling.value = .max }
        for handle in handles { handle.resumeWriting() }
        for (file, receiver) in zip(files, receivers) {
            #expect(try await receiver.end().outcome == .complete)
            #expect(try file.matches(content))
        }
    }

    @Test func `T4: Successive secure exchanges need one thread and one connection`() async throws {
        let secure = try await SecureServer(content)
        let transport = TestTransport()
        let threads = Watched<[UInt]>([])
        var connections: Set<String?> = []
        for _ in 0..<OriginHabits.habit {
            let file = try TestFile()
            let receiver = receiver(file, threads)
            #expect(try await transport.end(secure.request("small"), receiver).outcome == .complete)
            connections.insert(receiver.heads.first?.headers.first("X-Connection"))
        }
        #expect(Set(threads.read { $0 }).count == 1)
        #expect(connections.count == 1)
    }

    @Test func `T3: The common rate limit applies fairly over all threads`() async throws {
        let secure = try await SecureServer(content)
        let transport = TestTransport()
        transport.transport.setRateLimit(10_000_000)
        let files = try (0..<4).map { _ in try TestFile() }
        let receivers = files.map { file in Receiver { _ in .file(file.sink()) } }
        for receiver in receivers { _ = transport.begin(secure.request("file"), receiver) }
        for receiver in receivers { try await receiver.head() }
        try await RateWindows(limit: 10_000_000) { files.map(\.position.value) }.expectTheLimit()
        // The test removes the limit and sets it again at once. The queue must not forget an exchange.
        transport.transport.setRateLimit(nil)
        transport.transport.setRateLimit(20_000_000)
        let places = files.map(\.position.value)
        try await eventually("everybody's progress") {
            zip(files, places).allSatisfy { $0.position.value > $1 + 500_000 }
        }
        transport.transport.setRateLimit(nil)
        for (file, receiver) in zip(files, receivers) {
            #expect(try await receiver.end().outcome == .complete)
            #expect(try file.matches(content))
        }
    }

    @Test func `T8: The transport can close the connections of all threads`() async throws {
        let secure = try await SecureServer(content)
        let transport = TestTransport()
        var connections: [Set<String>] = []
        for _ in 0..<2 {
            let receivers = (0..<3).map { _ in Receiver() }
            for receiver in receivers { _ = transport.begin(secure.request("small"), receiver) }
            for receiver in receivers { #expect(try await receiver.end().outcome == .complete) }
            connections.append(Set(receivers.compactMap { $0.heads.first?.headers.first("X-Connection") }))
            transport.transport.forgetConnections()
        }
        #expect(connections[0].isDisjoint(with: connections[1]))
        #expect(connections.allSatisfy { !$0.isEmpty })
    }
}
