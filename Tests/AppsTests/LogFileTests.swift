import Apps
import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of the size limit of apps' logs (issue 3, "output to a per-app log with a size bound").
@Suite(.timeLimit(.minutes(20))) struct LogFileTests {
    private let scratch: TemporaryDirectory

    init() throws {
        scratch = try TemporaryDirectory()
    }

    @Test(arguments: [(8_191, false), (8_192, false), (8_193, true), (3_000_000, true)])
    func `The service cuts an oversized log file to its last lines`(size: Int, isCut: Bool) throws {
        let line = "0123456789abcde\n"
        let text = String(repeating: "x", count: size % 16) + String(repeating: line, count: size / 16)
        let path = try scratch.write(text, to: "log")
        #expect(LogFile.trim(path, limit: 4_096) == isCut)
        let kept = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.hasSuffix(kept))
        #expect(isCut ? (4_096 - 16...4_096).contains(kept.utf8.count) : kept == text)
        #expect(!isCut || kept.hasPrefix(line), "the first line is whole")
    }

    @Test func `The service cuts a single long line in the middle`() throws {
        let path = try scratch.write([UInt8](repeating: 0x61, count: 2_000_000), to: "log")
        #expect(LogFile.trim(path, limit: 500_000))
        #expect(try fileBytes(path).count == 500_000)
    }

    @Test func `The service does not change a log path without a regular file`() throws {
        #expect(!LogFile.trim(scratch.path("missing"), limit: 4_096))
        #expect(!LogFile.trim(scratch.path, limit: 4_096))
        let target = try scratch.write([UInt8](repeating: 0x61, count: 20_000), to: "target")
        try FileManager.default.createSymbolicLink(atPath: scratch.path("link"), withDestinationPath: target)
        #expect(!LogFile.trim(scratch.path("link"), limit: 4_096))
        #expect(try fileBytes(target).count == 20_000)
    }
}
