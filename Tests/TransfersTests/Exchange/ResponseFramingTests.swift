import NightshiftAPI
import Testing

/// Tests of the end of a response's body according to its head.
@Suite struct ResponseFramingTests {
    private static func framing(
        _ status: Int = 200, method: String = "GET", version: String = "1.1", lengths: [String] = [],
        codings: [String] = []
    ) -> ResponseFraming {
        ResponseFraming(status: status, method: method, httpVersion: version, lengths: lengths, codings: codings)
    }

    @Test(
        arguments: [
            ([], [], ResponseFraming.connection), (["5"], [], .length(5)), (["0"], [], .length(0)),
            (["5", "5"], [], .length(5)), (["5, 5"], [], .length(5)), ([" 5 "], [], .length(5)),
            (["9223372036854775807"], [], .length(.max)),
            (["5", "6"], [], .contradictory(["5", "6"])), (["5, 6"], [], .contradictory(["5", "6"])),
            (["five"], [], .contradictory(["five"])), (["-1"], [], .contradictory(["-1"])),
            (["+1"], [], .contradictory(["+1"])), ([""], [], .contradictory([""])),
            (["9223372036854775808"], [], .contradictory(["9223372036854775808"])),
            // A coding without effect keeps the length valid.
            (["5"], ["identity"], .length(5)), (["5"], [" Identity "], .length(5)), (["5"], [""], .length(5)),
            (["5", "6"], ["identity"], .contradictory(["5", "6"])), ([], ["identity"], .connection),
            // Chunked coding, and every other coding, makes the length invalid.
            (["5"], ["chunked"], .marked), ([], ["Chunked"], .marked), (["5", "6"], ["chunked"], .marked),
            ([], ["gzip, chunked"], .marked), ([], ["gzip", "chunked"], .marked), ([], ["identity, chunked"], .marked),
            (["5"], ["gzip"], .connection), (["5"], ["x;a=b"], .connection),
        ] as [([String], [String], ResponseFraming)])
    func `T8: HTTP/1.0 and HTTP/1.1 use the same rule for the length of a body`(
        lengths: [String], codings: [String], expected: ResponseFraming
    ) {
        for version in ["1.0", "1.1"] {
            #expect(Self.framing(version: version, lengths: lengths, codings: codings) == expected)
        }
    }

    @Test(arguments: ["2", "3"])
    func `T8: The end of an HTTP/2 or HTTP/3 stream ends a body without a length`(version: String) {
        #expect(Self.framing(version: version) == .marked)
        #expect(Self.framing(version: version, lengths: ["5"]) == .length(5))
        #expect(Self.framing(version: version, lengths: ["5", "6"]) == .contradictory(["5", "6"]))
    }

    @Test func `T8: A response to HEAD or with 1xx, 204 or 304 has no body, whatever its fields announce`() {
        for (status, method) in [(200, "HEAD"), (404, "HEAD"), (204, "GET"), (304, "GET"), (100, "GET"), (101, "GET")] {
            for codings in [[], ["chunked"], ["identity"]] {
                let framing = Self.framing(status, method: method, lengths: ["5"], codings: codings)
                #expect(framing == .empty && framing.length == 0)
            }
        }
        // A 205 has no content, but its body is framed like any other (RFC 9110, section 15.3.6).
        #expect(Self.framing(205, lengths: ["0"]) == .length(0))
        #expect(Self.framing(205) == .connection)
    }
}
