import TestSupport
import Testing

struct DigestTests {
    // The texts are the examples of FIPS 180-4 and RFC 1321.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func `SHA-256 hashes equal the examples of FIPS 180-4`(text: String, expected: String) {
        #expect(DigestAlgorithm.sha256.hash(text) == expected)
    }

    @Test(arguments: [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("abc", "900150983cd24fb0d6963f7d28e17f72"),
        (
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "57edf4a22be3c955ac49da2e2107b67a"
        ),
    ])
    func `MD5 hashes equal the examples of RFC 1321`(text: String, expected: String) {
        #expect(DigestAlgorithm.md5.hash(text) == expected)
    }

    @Test(arguments: [55, 56, 63, 64, 65, 119, 120, 128, 1_000_003])
    func `SHA-256 and MD5 hashes equal those of coreutils`(length: Int64) async throws {
        let directory = try TemporaryDirectory()
        let bytes = SeededContent(seed: 3, size: length).bytes(0..<length)
        try directory.write(bytes, to: "file")
        let sha256 = try await ChildProcess.run("sha256sum", [directory.path("file")])
        #expect(sha256.output.hasPrefix(SHA256.hash(bytes).hex))
        #expect(Content.seeded(size: length, seed: 3).sha256() == SHA256.hash(bytes))
        let md5 = try await ChildProcess.run("md5sum", [directory.path("file")])
        #expect(md5.output.hasPrefix(MD5.hash(bytes).hex))
    }
}
