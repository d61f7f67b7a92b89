import Testing

@testable import Aria2Bridge

/// B7: The identifiers of downloads.
@Suite struct GIDTests {
    @Test(arguments: ["", "1", "000000000000000g", "00000000000000001", "0000000000000000", "+00000000000000f"])
    func `A GID has 16 hexadecimal digits, and is not zero`(text: String) {
        #expect(GID(text) == nil)
    }

    @Test func `A GID keeps its leading zeros`() {
        #expect(GID("00000000000000AF")?.text == "00000000000000af")
    }

    @Test func `A prefix matches the GIDs that begin with its digits`() throws {
        let prefix = try #require(GID.Prefix("2b"))
        #expect(prefix.matches(try #require(GID("2b00000000000000"))))
        #expect(prefix.matches(try #require(GID("2bffffffffffffff"))))
        #expect(!prefix.matches(try #require(GID("2c00000000000000"))))
        #expect(GID.Prefix("0123456789abcdef0") == nil)
        #expect(GID.Prefix("xyz") == nil)
    }
}
