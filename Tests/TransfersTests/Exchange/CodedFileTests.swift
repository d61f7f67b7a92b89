import NightshiftAPI
import Testing

/// Tests of bodies with a `Content-Encoding` that was not requested.
@Suite struct CodedFileTests {
    private static func fields(_ codings: String..., type: String = "text/plain") -> [HeaderField] {
        codings.map { HeaderField(name: "content-encoding", value: $0) }
            + [HeaderField(name: "Content-Type", value: type)]
    }

    @Test(
        arguments: [
            (fields("gzip"), "/notes", true, ContentCoding.gzip), (fields("X-GZIP "), "/notes.txt", true, .gzip),
            (fields("deflate"), "/notes", true, .deflate), (fields("identity, gzip"), "/notes", true, .gzip),
            // These codings can be named but not decoded.
            (fields("br"), "/notes", true, nil), (fields("gzip", "br"), "/notes", true, nil),
            (fields("gzip, gzip"), "/notes", true, nil),
            // Here the coded bytes are the file itself.
            (fields("gzip"), "/notes.tar.gz", false, nil), (fields("gzip"), "/a%2Egz?x=1", false, nil),
            (fields("gzip"), "/a.TGZ", false, nil), (fields("gzip", type: "application/x-gzip"), "/a", false, nil),
            (fields("identity"), "/notes", false, nil), (fields(), "/notes", false, nil),
        ] as [([HeaderField], String, Bool, ContentCoding?)])
    func `T4: An unrequested content coding is noticed unless the name or type implies it`(
        fields: [HeaderField], path: String, isHidden: Bool, coding: ContentCoding?
    ) {
        let url = "http://example.org\(path)"
        #expect(ContentCoding.isHidden(in: fields, url: url, name: nil) == isHidden)
        #expect(ContentCoding(decoding: fields, url: url) == coding)
        #expect(!ContentCoding.isHidden(in: fields, url: url, name: "mine.gz"))
    }

    @Test func `T4: Decoding accepts a body of up to 64 MiB, or up to a hundred times the coded size`() {
        #expect(ContentCoding.allows(64 << 20, of: 1))
        #expect(!ContentCoding.allows(64 << 20 + 1, of: 1))
        #expect(ContentCoding.allows(99 << 30, of: 1 << 30))
        #expect(!ContentCoding.allows(101 << 30, of: 1 << 30))
        #expect(ContentCoding.allows(.max, of: .max))
    }
}
