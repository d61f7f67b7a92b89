import Testing

@testable import NightshiftCurl

@Suite struct HeadReaderTests {
    private func read(_ lines: [String], into reader: inout HeadReader) -> [CurlHead]? {
        var heads: [CurlHead] = []
        for line in lines {
            var line = line
            switch line.withUTF8({ reader.read(UnsafeRawBufferPointer($0)) }) {
            case .more: break
            case .head(let head): heads.append(head)
            case .tooLarge: return nil
            }
        }
        return heads
    }

    @Test func `The reader returns consecutive heads one after another`() {
        var reader = HeadReader()
        let heads = read(
            [
                "HTTP/1.1 100 Continue\r\n", "\r\n", "HTTP/2 401 \r\n", "a: b\r\n", "\r\n", "HTTP/1.0 200 OK\n",
                "Content-Length:  5 \r\n", "X:\r\n", "Folded: one\r\n", "\t two\r\n", "\r\n",
            ], into: &reader)
        #expect(
            heads == [
                CurlHead(status: 100, version: "1.1", fields: []),
                CurlHead(status: 401, version: "2", fields: [CurlField(name: "a", value: "b")]),
                CurlHead(
                    status: 200, version: "1.0",
                    fields: [
                        CurlField(name: "Content-Length", value: "5"), CurlField(name: "X", value: ""),
                        CurlField(name: "Folded", value: "one two"),
                    ]),
            ])
    }

    @Test func `The reader reads a field value that is not UTF-8 as ISO Latin 1`() {
        var reader = HeadReader()
        _ = read(["HTTP/1.1 200 OK\r\n"], into: &reader)
        _ = (Array("N: ".utf8) + [0xE9, 13, 10]).withUnsafeBytes { reader.read($0) }
        #expect(read(["\r\n"], into: &reader)?.first?.fields.first?.value == "é")
    }

    @Test func `T1: A Location field that is not UTF-8 keeps its bytes`() {
        var reader = HeadReader()
        _ = read(["HTTP/1.1 302 Found\r\n"], into: &reader)
        _ = (Array("location: /caf".utf8) + [0xE9, 13, 10]).withUnsafeBytes { reader.read($0) }
        #expect(read(["\r\n"], into: &reader)?.first?.fields.first?.value == "/caf%E9")
    }

    @Test func `The reader limits the size of one head`() {
        var reader = HeadReader()
        let line = "X: " + String(repeating: "x", count: 995) + "\r\n"
        #expect(read(["HTTP/1.1 200 OK\r\n"] + Array(repeating: line, count: 65), into: &reader) == [])
        #expect(read([line], into: &reader) == nil)
    }

    @Test func `The reader limits the number of heads`() {
        var reader = HeadReader()
        let heads = Array(repeating: ["HTTP/1.1 103 Early Hints\r\n", "\r\n"], count: HeadReader.maximumHeads).joined()
        #expect(read(Array(heads), into: &reader)?.count == HeadReader.maximumHeads)
        #expect(read(["HTTP/1.1 200 OK\r\n"], into: &reader) == nil)
    }

    @Test("T5: A server may acknowledge as often as it receives bytes")
    func headsBetweenBytesAreNotBounded() {
        var reader = HeadReader()
        for _ in 0..<HeadReader.maximumHeads * 2 {
            #expect(read(["HTTP/1.1 104 Upload Resumption Supported\r\n", "\r\n"], into: &reader)?.count == 1)
            reader.moved()
        }
    }

    @Test func `The reader limits the size of trailers and does not report them`() {
        var reader = HeadReader()
        #expect(read(["HTTP/1.1 200 OK\r\n", "\r\n"], into: &reader)?.count == 1)
        reader.isPastHead = true
        #expect(read(["HTTP/1.1 200 OK\r\n", "T: 1\r\n", "\r\n"], into: &reader) == [])
        let line = "X: " + String(repeating: "x", count: 9_995) + "\r\n"
        #expect(read(Array(repeating: line, count: 7), into: &reader) == nil)
    }
}
