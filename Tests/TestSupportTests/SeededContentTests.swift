import TestSupport
import Testing

struct SeededContentTests {
    let size: Int64 = 300_000
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test func `Seeded content is the same from every offset`() {
        let content = SeededContent(seed: 5, size: size)
        let all = content.bytes(0..<size)
        for range: Range<Int64> in [0..<1, 3..<9, 65_530..<65_545, 65_536..<65_540, 131_073..<262_150, 299_999..<size] {
            #expect(content.bytes(range) == Array(all[Int(range.lowerBound)..<Int(range.upperBound)]))
        }
        #expect(all != SeededContent(seed: 6, size: size).bytes(0..<size))
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 200_000, 299_999])
    func `A comparison with seeded content finds one wrong byte`(at offset: Int) throws {
        var bytes = SeededContent(seed: 5, size: size).bytes(0..<size)
        try directory.write(bytes, to: "file")
        #expect(try SeededContent.verify(fileAt: directory.path("file"), seed: 5, size: size) == nil)
        bytes[offset] ^= 1
        try directory.write(bytes, to: "file")
        #expect(try SeededContent.verify(fileAt: directory.path("file"), seed: 5, size: size) == Int64(offset))
    }

    @Test func `A comparison finds misplaced blocks and wrong lengths`() throws {
        let content = SeededContent(seed: 5, size: size)
        let (first, second) = (content.bytes(0..<65_536), content.bytes(65_536..<131_072))
        try directory.write(second + first + content.bytes(131_072..<size), to: "swapped")
        #expect(try content.firstMismatch(inFileAt: directory.path("swapped")) == 0)
        try directory.write(content.bytes(0..<size - 1), to: "short")
        #expect(try content.firstMismatch(inFileAt: directory.path("short")) == size - 1)
        try directory.write(content.bytes(0..<size + 1), to: "long")
        #expect(try content.firstMismatch(inFileAt: directory.path("long")) == size)
    }
}
