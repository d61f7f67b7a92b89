import NightshiftAPI
import Testing
import Transfers

@Suite struct DigestFieldsTests {
    /// The SHA-256 hash of zero bytes.
    private let sha256 = Checksum(
        algorithm: .sha256, hex: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    private static let base64 = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
    private static let sha512Base64 =
        "z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="

    @Test(arguments: [
        "sha-256=:\(base64):", " sha-256=:\(base64): ", "sha-256=:\(base64):;x=1", "md5=:AAAA:, sha-256=:\(base64):",
        "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU:", "a=\"x,sha-256=:AA==:\", sha-256=:\(base64):",
        "sha-256=:AAAA:, sha-256=:\(base64):", "sha-512=:AAAA:, sha-256=:\(base64):",
        "unixsum=:AQ==:,sha-256=:\(base64):",
        "a;b=1,c=(1 2),sha-256=:\(base64):",
    ])
    func `A valid digest is parsed, whatever other members the field has`(field: String) {
        #expect(DigestFields.parse([field]) == [sha256])
    }

    @Test(arguments: [
        "", ",", "sha-256", "sha-256=", "sha-256=:", "sha-256=::", "sha-256=:AAAA:", "sha-256=\(base64)",
        "SHA-256=\(base64)", "sha-256=:\(base64)", "sha-256=:****:", "md5=:1B2M2Y8AsgTpgAmY7PhCfg==:",
        "sha-256=:\(base64):, sha-256=?1", "sha-256=:\(base64):, A=1", "sha-256=:\(base64):,", "sha-256=\"\(base64)\"",
        "sha-1=:2jmj7l5rSw0yVb/vlWAYkK/YBwk=:",
    ])
    func `A field without a valid digest is ignored`(field: String) {
        #expect(DigestFields.parse([field]).isEmpty)
    }

    @Test func `Several digest lines are parsed as one field`() {
        let found = DigestFields.parse(["sha-512=:\(Self.sha512Base64):", "sha-256=:\(Self.base64):"])
        #expect(found.map(\.algorithm) == [.sha256, .sha512])
        #expect(found.map(\.hex.utf8.count) == [64, 128])
    }

    @Test func `A Content-Digest field applies only to a whole body`() {
        let content: KeyValuePairs = ["Content-Digest": "sha-256=:\(Self.base64):"]
        #expect(DigestFields.expected(head: head(200, content), wholeBody: true) == [sha256])
        #expect(DigestFields.expected(head: head(200, content), wholeBody: false).isEmpty)
        #expect(DigestFields.expected(head: head(206, content), wholeBody: true).isEmpty)
        let representation: KeyValuePairs = ["repr-digest": "sha-256=:\(Self.base64):"]
        #expect(DigestFields.expected(head: head(206, representation), wholeBody: false) == [sha256])
        let both = head(
            200, ["Repr-Digest": "sha-256=:\(Self.base64):", "Content-Digest": "sha-256=:\(Self.base64):"])
        #expect(DigestFields.expected(head: both, wholeBody: true) == [sha256])
    }

    @Test func `The service expects both of two contradicting digests`() {
        let other = "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:"
        let both = head(200, ["Repr-Digest": "sha-256=:\(Self.base64):", "Content-Digest": other])
        #expect(DigestFields.expected(head: both, wholeBody: true).count == 2)
    }
}
