import Foundation
import TestSupport
import Testing

@testable import CLI

struct URLListTests {
    private func file(_ text: String) throws -> String {
        let url = FileManager.default.temporaryDirectory.appending(path: "nightshift-list-\(UUID().uuidString)")
        try Data(text.utf8).write(to: url)
        return url.path(percentEncoded: false)
    }

    private func batches(_ list: borrowing URLList, of size: Int) async throws -> [[String]] {
        var batches: [[String]] = []
        try await list.forEachBatch(of: size) { batches.append($0) }
        return batches
    }

    @Test func `The list reader skips comments and blank lines`() async throws {
        let path = try file("# list\n\n http://a/1 \r\nhttp://a/2\n\t# more\nhttp://a/3")
        defer { try? FileManager.default.removeItem(atPath: path) }
        let list = try URLList(path: path)
        #expect(try list.validated() == 3)
        #expect(try await batches(list, of: 2) == [["http://a/1", "http://a/2"], ["http://a/3"]])
    }

    @Test func `Errors about invalid lines contain the line number`() throws {
        let path = try file("http://a/1\n# x\nexample.org\nhttp://a/2\nftp://b/\n")
        defer { try? FileManager.default.removeItem(atPath: path) }
        let list = try URLList(path: path)
        do {
            _ = try list.validated()
            Issue.record("accepted")
        } catch let failure as CommandFailure {
            #expect(failure.status == .usage)
            #expect(failure.message.contains("line 3:") && failure.message.contains("line 5:"))
            #expect(!failure.message.contains("line 4:"))
        }
    }

    @Test func `The list reader can read a pipe twice`() async throws {
        let pipe = Pipe()
        let text = (0..<3_000).map { "http://a.example/\($0)\n" }.joined()
        // The text is shorter than the 64 KiB that a pipe holds, so writing does not block.
        #expect(text.utf8.count < 65_536)
        try pipe.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try pipe.fileHandleForWriting.close()
        let list = try URLList(path: "-", standardInput: pipe.fileHandleForReading.fileDescriptor)
        #expect(try list.validated() == 3_000)
        let batches = try await batches(list, of: 1_000)
        #expect(batches.map(\.count) == [1_000, 1_000, 1_000])
        #expect(batches[2].last == "http://a.example/2999")
    }

    @Test func `The list reader reads a non-blocking pipe to its end`() throws {
        let pipe = Pipe()
        let descriptor = pipe.fileHandleForReading.fileDescriptor
        #expect(fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0)
        try pipe.fileHandleForWriting.write(contentsOf: Data("http://a/1\n".utf8))
        Thread.detachNewThread {
            // The reader reaches the end of the available data before the test writes the rest.
            blockThread(for: .milliseconds(100), because: "The reader reaches the end of the bytes that have arrived.")
            try? pipe.fileHandleForWriting.write(contentsOf: Data("http://a/2\n".utf8))
            try? pipe.fileHandleForWriting.close()
        }
        #expect(try URLList(path: "-", standardInput: descriptor).validated() == 2)
    }

    @Test func `An unreadable list is an error and does not count as an empty list`() throws {
        let descriptor = open("/", O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        #expect(throws: CommandFailure.self) { _ = try URLList(path: "-", standardInput: descriptor) }
    }

    @Test func `A line may cross the boundary between two reads`() async throws {
        let urls = (0..<40).map { "http://a/" + String(repeating: "x", count: 4_000 + $0) }
        let path = try file(urls.joined(separator: "\n"))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let list = try URLList(path: path)
        #expect(try await batches(list, of: 100) == [urls])
    }

    private static let lines = "http://a/1\r\nhttp://a/\u{1F600}\n"

    private static func utf16(_ text: String, isBigEndian: Bool) -> [UInt8] {
        ("\u{FEFF}" + text).utf16.flatMap { unit in
            let bytes = [UInt8(unit & 0xFF), UInt8(unit >> 8)]
            return isBigEndian ? bytes.reversed() : bytes
        }
    }

    private func read(_ bytes: [UInt8]) async throws -> [String] {
        let path = try file("")
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(bytes).write(to: URL(filePath: path))
        let list = try URLList(path: path)
        _ = try list.validated()
        return try await batches(list, of: 100_000).flatMap(\.self)
    }

    @Test func `T8: The list reader uses the encoding that the byte order mark names`() async throws {
        let expected = ["http://a/1", "http://a/\u{1F600}"]
        #expect(try await read(Array(("\u{FEFF}" + Self.lines).utf8)) == expected)
        #expect(try await read(Self.utf16(Self.lines, isBigEndian: false)) == expected)
        #expect(try await read(Self.utf16(Self.lines, isBigEndian: true)) == expected)
    }

    @Test(arguments: [true, false]) func `T8: The list reader decodes a long UTF-16 list correctly across reads`(
        _ isBigEndian: Bool
    ) async throws {
        // Surrogate pairs begin at every offset of a piece.
        let urls = (0..<9_000).map { "http://a/" + String(repeating: "x", count: $0 % 7) + "\u{1F600}\u{1F600}" }
        let bytes = Self.utf16(urls.joined(separator: "\n"), isBigEndian: isBigEndian)
        #expect(try await read(bytes) == urls)
    }

    @Test func `T8: The list reader refuses a list with a UTF-16 mark that is not valid UTF-16`() async throws {
        let half = Self.utf16("http://a/1", isBigEndian: false) + [0x3D, 0xD8]
        let odd = Self.utf16("http://a/1\n", isBigEndian: true) + [0x00]
        for bytes in [half, odd] {
            await #expect(throws: CommandFailure.self) { try await read(bytes) }
        }
    }

    @Test func `T8: A URL in a list keeps bytes that are not UTF-8`() async throws {
        let bytes = Array("http://a/caf".utf8) + [0xE9] + Array("\nhttp://a/é\n# caf".utf8) + [0xE9]
        #expect(try await read(bytes) == ["http://a/caf%E9", "http://a/é"])
    }

    @Test func `The list reader refuses an endless line`() throws {
        let path = try file("http://a/" + String(repeating: "x", count: 300_000))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let list = try URLList(path: path)
        #expect(throws: CommandFailure.self) { try list.validated() }
    }

    @Test func `A missing list file is a usage error`() {
        #expect(throws: CommandFailure.self) { _ = try URLList(path: "/nonexistent/list") }
    }
}
