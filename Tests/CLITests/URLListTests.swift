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

    @Test func commentsAndBlankLinesAreSkipped() async throws {
        let path = try file("# list\n\n http://a/1 \r\nhttp://a/2\n\t# more\nhttp://a/3")
        defer { try? FileManager.default.removeItem(atPath: path) }
        let list = try URLList(path: path)
        #expect(try list.validated() == 3)
        #expect(try await batches(list, of: 2) == [["http://a/1", "http://a/2"], ["http://a/3"]])
    }

    @Test func badLinesAreNamedByNumber() throws {
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

    @Test func aPipeIsReadTwice() async throws {
        let pipe = Pipe()
        let text = (0..<3_000).map { "http://a.example/\($0)\n" }.joined()
        // Less than the 64 KiB that a pipe holds, so that nobody has to read meanwhile.
        #expect(text.utf8.count < 65_536)
        try pipe.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try pipe.fileHandleForWriting.close()
        let list = try URLList(path: "-", standardInput: pipe.fileHandleForReading.fileDescriptor)
        #expect(try list.validated() == 3_000)
        let batches = try await batches(list, of: 1_000)
        #expect(batches.map(\.count) == [1_000, 1_000, 1_000])
        #expect(batches[2].last == "http://a.example/2999")
    }

    @Test func aPipeThatDoesNotBlockIsReadToItsEnd() throws {
        let pipe = Pipe()
        let descriptor = pipe.fileHandleForReading.fileDescriptor
        #expect(fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0)
        try pipe.fileHandleForWriting.write(contentsOf: Data("http://a/1\n".utf8))
        Thread.detachNewThread {
            // Behind the first line there is nothing to read for a moment.
            blockThread(for: .milliseconds(100), because: "The reader comes to the end of what is there.")
            try? pipe.fileHandleForWriting.write(contentsOf: Data("http://a/2\n".utf8))
            try? pipe.fileHandleForWriting.close()
        }
        #expect(try URLList(path: "-", standardInput: descriptor).validated() == 2)
    }

    @Test func aListThatCannotBeReadIsNoEmptyOne() throws {
        let descriptor = open("/", O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        #expect(throws: CommandFailure.self) { _ = try URLList(path: "-", standardInput: descriptor) }
    }

    @Test func linesAcrossPieces() async throws {
        let urls = (0..<40).map { "http://a/" + String(repeating: "x", count: 4_000 + $0) }
        let path = try file(urls.joined(separator: "\n"))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let list = try URLList(path: path)
        #expect(try await batches(list, of: 100) == [urls])
    }

    @Test func anEndlessLineIsRefused() throws {
        let path = try file("http://a/" + String(repeating: "x", count: 300_000))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let list = try URLList(path: path)
        #expect(throws: CommandFailure.self) { try list.validated() }
    }

    @Test func aMissingFileIsAUsageError() {
        #expect(throws: CommandFailure.self) { _ = try URLList(path: "/nonexistent/list") }
    }
}
