/// The reason why bytes are refused as a picture. A picture that is served as `image/png` must begin as a PNG file (PNG
/// specification, sections 5.2 and 11.2.2).
package enum PictureProblem: Error, Hashable, Sendable {
    case signature
    case header
    case size(width: Int, height: Int)

    /// The longest side of a picture in pixels. Four 4K screens next to each other fit into it.
    package static let longestSide = 16_384

    private static let signatureBytes: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    /// The first bytes of the header chunk: its length and its name.
    private static let headerStart: [UInt8] = [0, 0, 0, 13] + Array("IHDR".utf8)
    /// The length in bytes of the shortest possible start of a PNG file: the signature, and the header chunk with its
    /// checksum.
    private static let shortest = 8 + 8 + 13 + 4

    /// The bit depths that each colour type may have.
    private static let depths: [UInt8: Set<UInt8>] = [
        0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16],
    ]

    /// Throws if the bytes do not begin like a PNG file of an allowed size. The rest of the file is not checked.
    package static func check(_ bytes: [UInt8]) throws(PictureProblem) {
        guard bytes.starts(with: signatureBytes) else { throw .signature }
        guard bytes.count >= shortest, bytes[8..<16].elementsEqual(headerStart) else { throw .header }
        let (width, height) = (number(bytes[16..<20]), number(bytes[20..<24]))
        let (depth, colour, methods) = (bytes[24], bytes[25], bytes[26..<29])
        guard depths[colour]?.contains(depth) == true, methods.prefix(2).allSatisfy({ $0 == 0 }), bytes[28] <= 1 else {
            throw .header
        }
        guard 1...longestSide ~= width, 1...longestSide ~= height else { throw .size(width: width, height: height) }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

    package var sentence: String {
        switch self {
        case .signature: "It is not a PNG file: its signature is missing."
        case .header: "It begins like a PNG file, but its header is invalid."
        case .size(let width, let height):
            "Its header says \(width) times \(height) pixels. Each side must have 1 to \(Self.longestSide)."
        }
    }
}
