import Apps
import Foundation
import Testing

/// Tests that the service only serves files that begin like a picture (mission row L7).
@Suite struct PictureTests {
    /// Returns the beginning of a PNG file: signature and header chunk.
    static func header(
        width: UInt32 = 640, height: UInt32 = 480, depth: UInt8 = 8, colour: UInt8 = 6, methods: [UInt8] = [0, 0, 0]
    ) -> [UInt8] {
        var bytes: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
        for side in [width, height] {
            for shift in [24, 16, 8, 0] { bytes.append(UInt8(side >> UInt32(shift) & 0xff)) }
        }
        return bytes + [depth, colour] + methods + [1, 2, 3, 4]
    }

    private func problem(_ bytes: [UInt8]) -> PictureProblem? {
        do throws(PictureProblem) {
            try PictureProblem.check(bytes)
            return nil
        } catch {
            return error
        }
    }

    @Test func `L7: The service accepts a PNG file of an allowed size`() {
        #expect(problem(Self.header()) == nil)
        #expect(problem(Self.header() + [UInt8](repeating: 7, count: 1_000)) == nil)
        #expect(problem(Self.header(width: 1, height: 16_384, depth: 1, colour: 0, methods: [0, 0, 1])) == nil)
    }

    @Test(
        arguments: [
            [], Array("<html><script>".utf8), Array("GIF89a".utf8), Array("\u{89}PNG".utf8),
            Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8),
        ] as [[UInt8]])
    func `L7: The service refuses a file without the PNG signature`(bytes: [UInt8]) {
        #expect(problem(bytes) == .signature)
    }

    @Test func `L7: The service refuses a PNG file with an invalid header`() {
        for length in 8..<33 { #expect(problem(Array(Self.header().prefix(length))) == .header, "\(length) bytes") }
        #expect(problem(Self.header(depth: 3)) == .header)
        #expect(problem(Self.header(depth: 16, colour: 3)) == .header)
        #expect(problem(Self.header(colour: 1)) == .header)
        for methods: [UInt8] in [[1, 0, 0], [0, 1, 0], [0, 0, 2]] {
            #expect(problem(Self.header(methods: methods)) == .header)
        }
        var other = Self.header()
        other[12] = UInt8(ascii: "J")
        #expect(problem(other) == .header)
    }

    @Test(arguments: [(0, 1), (1, 0), (16_385, 1), (1, .max)] as [(UInt32, UInt32)])
    func `L7: The service refuses a picture with a side that is too long`(width: UInt32, height: UInt32) {
        let size = PictureProblem.size(width: Int(width), height: Int(height))
        #expect(problem(Self.header(width: width, height: height)) == size)
        #expect(size.sentence.contains("\(width) times \(height)"))
    }
}
