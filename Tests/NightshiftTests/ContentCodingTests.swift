import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import Nightshift

/// Tests of files that a server has sent in a content coding that was not requested.
@Suite struct ContentCodingTests {
    /// "hello, hello, hello\n" as gzip, in zlib's format, and as raw deflate.
    private static let text = "hello, hello, hello\n"
    private static let gzip = "H4sIAAAAAAACA8tIzcnJ11HIQKK4AOdCblIUAAAA"
    private static let zlib = "eJzLSM3JyddRyECiuABLBwbf"
    private static let raw = "y0jNycnXUchAorgA"
    /// 65,600 zeros as raw deflate. Its last byte holds more data than one output buffer can take.
    private static let zeros =
        "7cExAQAAAMKg9U9tCF+gAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA4Dc="

    private func delivered(
        _ bytes: Data, coding: String, type: String = "text/plain", url path: String = "http://example.org/file"
    ) async throws -> Data? {
        let world = try World()
        let file = "\(world.service.home)/state/files/coded"
        let (seen, kept) = (Watched<Data?>(nil), Watched<Data?>(nil))
        let delegate = Recorder(onFile: { location in
            seen.update { $0 = try? Data(contentsOf: location) }
            // The service's own file exists until the message is acknowledged.
            kept.update { $0 = try? Data(contentsOf: URL(filePath: file)) }
        })
        world.process().session(delegate).downloadTask(with: url(path)).resume()
        try bytes.write(to: URL(filePath: file))
        world.service.change(1) { task in
            let headers = [
                HeaderField(name: "Content-Encoding", value: coding), HeaderField(name: "Content-Type", value: type),
            ]
            task.task.response = ResponseSummary(status: 200, headers: headers, httpVersion: "1.1")
            task.task.state = .completed
            task.task.file = file
        }
        world.service.push(.ended, 1)
        try await delegate.heard.wait(for: "the end") { $0.last == "1 completed" }
        #expect(kept.read { $0 } == bytes)
        let location = try #require(delegate.locations.read { $0.first })
        // The library deletes the file when the delegate's methods have returned, which is after the delegate recorded
        // them.
        try await eventually("the delegate's file is gone") {
            !FileManager.default.fileExists(atPath: location.path(percentEncoded: false))
        }
        return seen.read { $0 }
    }

    private func data(_ text: String) throws -> Data { try #require(Data(base64Encoded: text)) }

    @Test(arguments: [("gzip", gzip), ("x-gzip", gzip), (" GZIP ", gzip), ("deflate", zlib), ("deflate", raw)])
    func `T7: An app gets a coded body in decoded form`(coding: String, bytes: String) async throws {
        #expect(try await delivered(data(bytes), coding: coding) == Data(Self.text.utf8))
    }

    /// FoundationNetworking counts decoded bytes, and reports no expected number.
    @Test func `T7: The number of bytes written counts the decoded bytes of a coded body`() async throws {
        let world = try World()
        let file = "\(world.service.home)/state/files/coded"
        let bytes = try data(Self.gzip)
        let delegate = Recorder()
        let task = world.process().session(delegate).downloadTask(with: url())
        task.resume()
        try bytes.write(to: URL(filePath: file))
        let coded = Int64(bytes.count)
        world.service.change(1) { task in
            let headers = [HeaderField(name: "Content-Encoding", value: "gzip")]
            task.task.response = ResponseSummary(status: 200, headers: headers, httpVersion: "1.1")
            task.task.state = .completed
            task.task.file = file
            (task.task.countOfBytesReceived, task.task.countOfBytesExpectedToReceive) = (coded, coded)
        }
        world.service.push(.ended, 1)
        #expect(try await delegate.heard.are(["1 wrote 20, 20/-1", "1 finished '\(Self.text)'", "1 completed"]))
        #expect(task.countOfBytesReceived == 20 && task.progress.fractionCompleted == 1)
    }

    @Test func `T7: The app also gets data from the last bits of a body`() async throws {
        let bytes = try data(Self.zeros)
        #expect(try await delivered(bytes, coding: "deflate") == Data(count: 65_600))
        #expect(try await delivered(bytes.dropLast(1), coding: "deflate") == bytes.dropLast(1))
    }

    @Test func `T7: The library decodes all members of a gzip file`() async throws {
        let two = try data(Self.gzip) + data(Self.gzip)
        #expect(try await delivered(two, coding: "gzip") == Data((Self.text + Self.text).utf8))
    }

    @Test func `T7: The library does not change compressed files or bodies that it cannot decode`() async throws {
        let plain = Data("plain".utf8)
        #expect(try await delivered(plain, coding: "gzip") == plain)
        #expect(try await delivered(plain, coding: "br") == plain)
        #expect(try await delivered(Data(), coding: "gzip") == Data())
        let packed = try data(Self.gzip)
        #expect(try await delivered(packed.dropLast(3), coding: "gzip") == packed.dropLast(3))
        #expect(try await delivered(packed, coding: "x-gzip", type: "application/x-gzip") == packed)
        #expect(try await delivered(packed, coding: "gzip", url: "http://example.org/a.tar.gz") == packed)
    }

    /// A gzip file of 65,600 zeros.
    private func zerosMember() throws -> Data {
        var checksum: UInt32 = 0xFFFF_FFFF
        for _ in 0..<65_600 * 8 { checksum = checksum & 1 == 1 ? checksum >> 1 ^ 0xEDB8_8320 : checksum >> 1 }
        let trailer = [~checksum, 65_600].flatMap { number in (0..<4).map { UInt8(number >> ($0 * 8) & 0xFF) } }
        return try Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]) + data(Self.zeros) + Data(trailer)
    }

    @Test func `T7: A file that expands several hundredfold fails only its own task`()
        async throws
    {
        let member = try zerosMember()
        #expect(try await delivered(member, coding: "gzip") == Data(count: 65_600))
        let world = try World()
        let folder = "\(world.service.home)/state/files"
        let delegate = Recorder()
        let session = world.process().session(delegate)
        for number in 1...2 { session.downloadTask(with: url("http://example.org/\(number)")).resume() }
        try Data(repeating: 0x61, count: 1).write(to: URL(filePath: "\(folder)/2"))
        // The file expands to 125 MiB, of which at most 64 MiB may be written.
        let bomb = Data((0..<2_000).flatMap { _ in member })
        try bomb.write(to: URL(filePath: "\(folder)/1"))
        for number in [Int64(1), 2] {
            world.service.change(number) { task in
                let headers = number == 1 ? [HeaderField(name: "Content-Encoding", value: "gzip")] : []
                task.task.response = ResponseSummary(status: 200, headers: headers, httpVersion: "1.1")
                task.task.state = .completed
                task.task.file = "\(folder)/\(number)"
            }
            world.service.push(.ended, number)
        }
        try await delegate.heard.wait(for: "both ends") { $0.last == "2 completed" }
        #expect(delegate.heard.read { $0.contains("1 completed \(NSURLErrorCannotWriteToFile)") })
    }
}
