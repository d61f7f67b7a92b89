import Foundation
import HTTPTypes
import NightshiftAPI
import TestSupport
import Testing

@testable import LocalAPI

@Suite struct FileContentTests {
    private let directory: TemporaryDirectory
    private let routes: [Route]

    init() throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        routes = [Route(.get, "/content") { _ in try FileContent(path: directory.path("f")).response }]
    }

    @Test(arguments: [0, 1, 256 << 10, 3_000_001])
    func `A file response contains the whole file`(size: Int) async throws {
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
        try directory.write(bytes, to: "f")
        let answer = try await withServer(routes: routes) { try await $0.request("GET", "/content") }
        #expect(answer.headers["content-length"] == "\(size)")
        #expect(answer.body == bytes)
    }

    @Test func `A request for a missing file gets 404`() async throws {
        let answer = try await withServer(routes: routes) { try await $0.request("GET", "/content") }
        #expect(try answer.problem.type == "/problems/not-found")
    }

    @Test func `The server serves only regular files`() async throws {
        let target = try directory.write([1], to: "target")
        symlink(target, directory.path("f"))
        let link = try await withServer(routes: routes) { try await $0.request("GET", "/content") }
        #expect(link.status == 503)
        unlink(directory.path("f"))
        mkdir(directory.path("f"), 0o700)
        let folder = try await withServer(routes: routes) { try await $0.request("GET", "/content") }
        #expect(folder.status == 409)
    }

    @Test func `A file that is truncated while it is sent breaks the response`() async throws {
        try directory.write([UInt8](repeating: 1, count: 8 << 20), to: "f")
        try await withServer(routes: routes) { server in
            let client = try server.client()
            try await client.send(UnixClient.head("GET", "/content"))
            _ = try await client.receive(atMost: 1_000)
            truncate(directory.path("f"), 1)
            let rest = try? await client.receiveAll()
            #expect((rest?.count ?? 0) < 8 << 20)
        }
    }

    @Test(arguments: [(0, 10), (0, 3), (2, 4), (4, 10), (5, 1), (9, 10)])
    func `The server serves the two halves of a log as one file, from any position`(start: Int, limit: Int) async throws
    {
        let halves = [directory.path("log.1"), directory.path("log")]
        let routes = [
            Route(.get, "/content") { _ in
                try FileContent(halves: halves, type: "text/plain", from: Int64(start), limit: Int64(limit)).response
            }
        ]
        func text() async throws -> Answer {
            try await withServer(routes: routes) { try await $0.request("GET", "/content") }
        }
        #expect(try await text().problem.status == 404)
        for (older, newer) in [(nil, "abcdefgh"), ("abcde", "fgh"), ("abcdefgh", nil), ("abcdefgh", "")] {
            for (name, content) in [("log.1", older), ("log", newer)] {
                unlink(directory.path(name))
                if let content { try directory.write(content, to: name) }
            }
            let expected = String("abcdefgh".dropFirst(start).prefix(limit))
            #expect(try await text().text == expected)
        }
    }

    @Test func `The server serves a constantly rotating log without gaps or repetitions`() async throws {
        let (older, newer) = (directory.path("log.1"), directory.path("log"))
        try directory.write("0", to: "log.1")
        try directory.write("1", to: "log")
        let done = Watched(false)
        async let renaming: Void = {
            for number in 2..<5_000 {
                rename(newer, older)
                // As with the log keeper, there is no newer half for a moment.
                try "\(number)".write(toFile: newer, atomically: true, encoding: .utf8)
            }
            done.update { $0 = true }
        }()
        let routes = [
            Route(.get, "/content") { _ in try FileContent(halves: [older, newer], type: "text/plain").response }
        ]
        try await withServer(routes: routes) { server in
            while !done.read({ $0 }) {
                let text = try await server.request("GET", "/content").text
                let isOne = Int(text).map { $0 < 5_000 } ?? false
                let isTwo = (0..<5_000).contains { text == "\($0)\($0 + 1)" }
                #expect(isOne || isTwo, "\(text)")
            }
        }
        try await renaming
    }
}
