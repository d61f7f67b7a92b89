import Foundation
import Push
import TestSupport
import Testing

/// R3: The device's key for the gateway.
@Suite struct PushKeyTests {
    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = Array(hexadecimal)
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    }

    /// The keys and signatures are those of RFC 8032, section 7.1, test 2.
    @Test func `R3: The device creates the same keys and signatures as the Ed25519 standard`() throws {
        let secret = Self.bytes("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
        let key = try #require(PushKey(secret: secret))
        #expect(
            try key.publicKey() == Self.bytes("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"))
        let signature =
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
            + "387b2eaeb4302aeeb00d291612bb0c00"
        #expect(try key.sign([0x72]) == Self.bytes(signature))
        #expect(PushKey(secret: Array(secret.dropLast())) == nil)
        #expect(try PushKey.make().publicKey() != PushKey.make().publicKey())
    }

    @Test func `R3: The key file is private, complete or missing, and never a followed link`() throws {
        let directory = try TemporaryDirectory()
        let file = URL(filePath: directory.path("push.key"))
        let key = try PushKey.make()
        // This file was left by an interrupted attempt.
        try Data("half".utf8).write(to: URL(filePath: directory.path("push.key.new")))
        try key.write(to: file)
        #expect(try PushKey.read(file) == key)
        var status = stat()
        #expect(stat(file.path, &status) == 0 && status.st_mode & 0o777 == 0o600 && status.st_size == 32)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["push.key"])
        let link = URL(filePath: directory.path("link.key"))
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
        #expect(throws: PushKey.Failure.self) { try PushKey.read(link) }
        for bytes in [Data(), Data(count: 31), Data(count: 33)] {
            try bytes.write(to: file)
            #expect(throws: PushKey.Failure.self) { try PushKey.read(file) }
        }
        #expect(throws: PushKey.Failure.self) { try key.write(to: URL(filePath: directory.path("none/push.key"))) }
    }
}
