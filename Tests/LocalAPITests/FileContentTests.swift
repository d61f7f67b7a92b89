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
    func `A file comes whole`(size: Int) async throws {
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
        try directory.write(bytes, to: "f")
        let answer = try await withServer(routes: routes) { try await $0.request("GET", "/content") }
        #expect(answer.headers["content-length"] == "\(size)")
        #expect(answer.body == bytes)
    }

    @Test func `A file that is gone is not found`() async throws {
        let answer = try await withServer(routes: routes) { try await $0.request("GET", "/content") }
        #expect(try answer.problem.type == "/problems/not-found")
    }

    @Test func `Only regular files are given out`() async throws {
        let target = try directory.write([1], to: "target")
        symlink(target, directory.path("f"))
        let link = try await withServer(routes: routes) { try await $0.request("GET", "/content") }
        #expect(link.status == 503)
        unlink(directory.path("f"))
        mkdir(directory.path("f"), 0o700)
        let folder = try await withServer(routes: routes) { try await $0.request("GET", "/content") }
        #expect(folder.status == 409)
    }

    @Test func `A file that becomes shorter breaks the answer off`() async throws {
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
}
