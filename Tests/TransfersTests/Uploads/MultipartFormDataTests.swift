import Foundation
import NightshiftAPI
import Testing
import Transfers

@Suite struct MultipartFormDataTests {
    private static let picture = Array("\u{89}PNG\r\n--boundary\r\n\0".utf8)

    private static func form() throws -> MultipartFormData {
        try MultipartFormData(
            boundary: "boundary-7f3a",
            parts: [
                .init(name: "title", content: .text("Grüße\nvon \"hier\"\r\nund dort\r")),
                .init(
                    name: "pic\"ture\n", content: .file(path: "/pictures/1", size: Int64(picture.count)),
                    fileName: "süß \"1\"\r\n.png", contentType: "image/png"),
                .init(name: "empty", content: .file(path: "/empty", size: 0), fileName: "leer"),
            ])
    }

    /// Returns the bytes of the body from `offset` on, read in pieces of at most `limit` bytes. The bytes of the
    /// pictures are the content of its files.
    private static func bytes(_ body: MultipartBody, from offset: Int64 = 0, limit: Int64 = .max) -> [UInt8] {
        var result: [UInt8] = []
        while let piece = body.piece(at: offset + Int64(result.count), limit: limit) {
            switch piece {
            case .bytes(let bytes): result += bytes
            case .file(let path, let from, let count):
                always(path == "/pictures/1", path)
                result += picture[Int(from)..<Int(from + count)]
            }
        }
        return result
    }

    @Test func `A form is framed and escaped as browsers do`() throws {
        let expected = """
            --boundary-7f3a\r
            Content-Disposition: form-data; name="title"\r
            \r
            Grüße\r
            von "hier"\r
            und dort\r
            \r
            --boundary-7f3a\r
            Content-Disposition: form-data; name="pic%22ture%0D%0A"; filename="süß %221%22%0D%0A.png"\r
            Content-Type: image/png\r
            \r
            \(String(decoding: Self.picture, as: UTF8.self))\r
            --boundary-7f3a\r
            Content-Disposition: form-data; name="empty"; filename="leer"\r
            Content-Type: application/octet-stream\r
            \r
            \r
            --boundary-7f3a--\r

            """
        let form = try Self.form()
        let body = try MultipartBody(form)
        #expect(form.contentType == "multipart/form-data; boundary=boundary-7f3a")
        #expect(String(decoding: Self.bytes(body), as: UTF8.self) == expected)
        #expect(body.length == Int64(expected.utf8.count))
    }

    @Test func `The body of a form is the same from every offset and in pieces of every size`() throws {
        let body = try MultipartBody(Self.form())
        let whole = Self.bytes(body)
        for offset in 0...whole.count {
            always(Self.bytes(body, from: Int64(offset)) == Array(whole[offset...]), "from \(offset)")
        }
        for limit in 1...40 {
            always(Self.bytes(body, limit: Int64(limit)) == whole, "pieces of \(limit)")
        }
        #expect(body.piece(at: body.length) == nil)
        #expect(body.piece(at: -1) == nil)
    }

    /// A test with Python's message parser, an independent implementation, which finds the parts.
    @Test func `Another parser finds the parts of a form`() throws {
        let form = try Self.form()
        let python = Process()
        python.executableURL = URL(filePath: "/usr/bin/env")
        python.arguments = ["python3", "-c", Self.reader, form.contentType]
        let input = Pipe()
        let output = Pipe()
        python.standardInput = input
        python.standardOutput = output
        try python.run()
        try input.fileHandleForWriting.write(contentsOf: Self.bytes(MultipartBody(form)))
        try input.fileHandleForWriting.close()
        let text = try #require(try output.fileHandleForReading.readToEnd())
        python.waitUntilExit()
        #expect(python.terminationStatus == 0)
        let parts = try JSONDecoder().decode([[String?]].self, from: text)
        #expect(
            parts == [
                ["title", nil, "text/plain", Self.hex("Grüße\r\nvon \"hier\"\r\nund dort\r\n".utf8)],
                ["pic%22ture%0D%0A", "süß %221%22%0D%0A.png", "image/png", Self.hex(Self.picture)],
                ["empty", "leer", "application/octet-stream", ""],
            ])
    }

    private static let reader = """
        import email.parser, email.policy, json, sys
        head = ("Content-Type: " + sys.argv[1] + "\\r\\n\\r\\n").encode()
        message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + sys.stdin.buffer.read())
        def words(value):
            return None if value is None else value.encode("utf-8", "surrogateescape").decode()
        print(json.dumps([[
            words(part.get_param("name", header="content-disposition")), words(part.get_filename()),
            part.get_content_type(), part.get_payload(decode=True).hex()] for part in message.iter_parts()]))
        """

    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    @Test(arguments: ["", "a b", "a\"b", "a\r\nb", String(repeating: "a", count: 71), "ä"])
    func `An invalid boundary is refused`(boundary: String) {
        #expect(throws: TransferFailure.self) { try MultipartFormData(boundary: boundary, parts: []) }
    }

    @Test func `A media type with a line break is refused`() {
        let part = MultipartFormData.Part(name: "a", content: .text(""), contentType: "text/plain\r\nX: y")
        #expect(throws: TransferFailure.self) { try MultipartFormData(boundary: "b", parts: [part]) }
    }

    @Test func `A form with large files needs little memory, and is refused if its length overflows`() throws {
        let huge = MultipartFormData.Part(name: "a", content: .file(path: "/a", size: 1 << 62), fileName: "a")
        let body = try MultipartBody(MultipartFormData(boundary: "b", parts: [huge]))
        #expect(body.length > 1 << 62)
        let place = try #require(body.piece(at: 1 << 61, limit: 10))
        guard case .file("/a", let offset, 10) = place else {
            Issue.record("\(place)")
            return
        }
        #expect(offset > (1 << 61) - 200)
        let form = try MultipartFormData(boundary: "b", parts: [huge, huge])
        #expect(throws: TransferFailure.self) { try MultipartBody(form) }
    }

    @Test func `A form keeps its parts when it is stored as JSON and read again`() throws {
        let form = try Self.form()
        #expect(try JSONDecoder().decode(MultipartFormData.self, from: JSONEncoder().encode(form)) == form)
    }
}
