import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

@testable import Transfers

/// Tests of files that arrived with a content coding, and of the delivered files.
@Suite struct DecodedFileTests {
    private static let text = Data("hello, hello, hello\n".utf8)
    private static let gzip = "H4sIAAAAAAACA8tIzcnJ11HIQKK4AOdCblIUAAAA"
    private static let zlib = "eJzLSM3JyddRyECiuABLBwbf"
    private static let raw = "y0jNycnXUchAorgA"

    private let scratch: TemporaryDirectory

    init() throws { scratch = try TemporaryDirectory() }

    private static func bytes(_ text: String) throws -> Data { try #require(Data(base64Encoded: text)) }

    private static func checksum(_ data: Data) throws -> Checksum {
        Checksum(algorithm: .sha256, hex: try #require(Verification.sha256(data)))
    }

    /// Verifies a file that consists of these bytes.
    ///
    /// - Returns: the finding and the decoded bytes.
    private func verify(
        _ bytes: Data, _ coding: ContentCoding?, asked: Checksum? = nil, announced: [Checksum] = [],
        isCancelled: () -> Bool = { false }
    ) throws -> (result: Result<Verification.Finding, TransferFailure>, decoded: Data?) {
        let path = scratch.path("came")
        try bytes.write(to: URL(filePath: path))
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        // A receiver leaves the offset after the last byte that it wrote.
        lseek(descriptor, 0, SEEK_END)
        let place = scratch.path("decoded")
        defer { unlink(place) }
        let result = Verification.verify(
            descriptor: descriptor, asked: asked, announced: announced, coding: coding.map { ($0, { place }) },
            isCancelled: isCancelled)
        guard let decoded = try? result.get().decoded else {
            #expect(!FileManager.default.fileExists(atPath: place))
            return (result, nil)
        }
        defer { close(decoded.file.descriptor) }
        let data = try Data(contentsOf: URL(filePath: decoded.file.path))
        #expect(Int64(data.count) == decoded.size)
        return (result, data)
    }

    @Test(arguments: [(ContentCoding.gzip, gzip), (.deflate, zlib), (.deflate, raw)])
    func `T4: A coded file is decoded, and a checksum may match either form`(coding: ContentCoding, text: String) throws
    {
        let came = try Self.bytes(text)
        #expect(try verify(came, coding).decoded == Self.text)
        // The server's digests apply to the bytes as received.
        let announced = [try Self.checksum(came)]
        #expect(try verify(came, coding, announced: announced).decoded == Self.text)
        let ofDecoded = try verify(came, coding, asked: try Self.checksum(Self.text), announced: announced)
        #expect(ofDecoded.decoded == Self.text)
        #expect(try ofDecoded.result.get().names == ["sha-256"])
        // The requested checksum is that of the coded file.
        let ofCoded = try verify(came, coding, asked: announced[0])
        #expect(try ofCoded.result.get().names == ["sha-256"] && ofCoded.decoded == nil)
    }

    @Test func `T4: A checksum that matches neither form is a mismatch`() throws {
        let came = try Self.bytes(Self.gzip)
        let other = try Self.checksum(Data("other".utf8))
        for (asked, announced) in [(Checksum?.some(other), []), (nil, [other])] {
            let result = try verify(came, .gzip, asked: asked, announced: announced).result
            #expect(throws: TransferFailure.self) { try result.get() }
        }
    }

    @Test func `T4: A file stays as received if its bytes lack the announced coding or grow too much`() throws {
        let came = try Self.bytes(Self.gzip)
        #expect(try verify(Self.text, .gzip).decoded == nil)
        #expect(try verify(came.dropLast(9), .gzip).decoded == nil)
        // The file has 65 MiB of zeros, which gzip compresses to 66 KB.
        let source = scratch.path("zeros")
        #expect(FileManager.default.createFile(atPath: source, contents: nil))
        #expect(truncate(source, 65 << 20) == 0)
        let program = Process()
        program.executableURL = URL(filePath: "/usr/bin/gzip")
        program.arguments = [source]
        try program.run()
        program.waitUntilExit()
        let bomb = try Data(contentsOf: URL(filePath: "\(source).gz"))
        let result = try verify(bomb, .gzip)
        #expect(try result.result.get().decoded == nil)
    }

    @Test func `T4: A stopping service does not finish decoding`() throws {
        let result = try verify(try Self.bytes(Self.gzip), .gzip) { true }.result
        #expect { try result.get() } throws: { ($0 as? TransferFailure)?.isStopOfVerification == true }
    }
}
