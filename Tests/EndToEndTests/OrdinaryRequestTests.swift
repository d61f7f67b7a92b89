import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of requests that apps make, with the real service and real connections (T1, T4).
@Suite struct OrdinaryRequestTests {
    private let content = Content.seeded(size: 3 << 20, seed: 91)

    private func transfer(
        _ path: String = "/file", _ change: (inout TaskRequest) -> Void
    ) async throws -> (TaskStatus, [OriginRequest], [UInt8]) {
        let (service, origin) = (try Service(), try OriginServer())
        origin.serve("/file", Resource(content: content, etag: "\"a\""))
        try await service.start()
        var request = TaskRequest.download(origin.url(path), to: service.scratch.path)
        change(&request)
        let id = try await service.api.enqueue(request)
        let task = try await service.waitForEnd(id)
        return (task, origin.requests, try task.file.map { try fileBytes($0) } ?? [])
    }

    @Test func `T4: An app that requests a range gets exactly that range, in one exchange`() async throws {
        let (task, requests, bytes) = try await transfer {
            $0.headers = [HeaderField(name: "Range", value: "bytes=1000-2999999")]
            $0.connections = 4
        }
        #expect(task.state == .completed && task.response?.status == 206, "\(task)")
        #expect(bytes == content.bytes(1_000..<3_000_000))
        #expect(requests.map { $0.field("Range") } == ["bytes=1000-2999999"])
    }

    @Test func `T4: The app gets 304 and 412 responses to its own conditional requests`() async throws {
        for (field, status) in [("If-None-Match", 304), ("If-Match", 412)] {
            let (task, requests, bytes) = try await transfer {
                $0.headers = [HeaderField(name: field, value: field == "If-Match" ? "\"b\"" : "\"a\"")]
            }
            #expect(task.state == .completed && task.response?.status == status, "\(task)")
            #expect(bytes.isEmpty && requests.count == 1)
        }
    }

    @Test func `T4: A HEAD request delivers only the head of the response`() async throws {
        let (task, requests, bytes) = try await transfer { $0.method = "HEAD" }
        #expect(task.state == .completed && task.response?.status == 200, "\(task)")
        #expect(bytes.isEmpty && requests.map(\.method) == ["HEAD"])
        #expect(task.response?.headers.first("Content-Length") == "\(content.size)")
    }

    @Test func `T4: Any method is sent unchanged, with its body`() async throws {
        for method in ["DELETE", "POST", "PROPFIND"] {
            let body = Array("{\"query\": 1}".utf8)
            let (task, requests, _) = try await transfer {
                $0.method = method
                $0.body = Data(body)
                $0.headers = [
                    HeaderField(name: "Content-Type", value: "application/json"),
                    HeaderField(name: "Content-Length", value: "7"), HeaderField(name: "Host", value: "elsewhere"),
                    HeaderField(name: "Connection", value: "close"), HeaderField(name: "Accept-Encoding", value: "br"),
                ]
            }
            #expect(task.state == .completed, "\(task)")
            let request = try #require(requests.first)
            #expect(requests.count == 1 && request.method == method && request.body.bytes == body, "\(request)")
            #expect(request.field("Content-Length") == "\(body.count)")
            #expect(request.field("Content-Type") == "application/json")
            #expect(request.field("Host")?.hasPrefix("127.0.0.1") == true)
            #expect(request.field("Accept-Encoding") == "identity")
        }
    }
}
