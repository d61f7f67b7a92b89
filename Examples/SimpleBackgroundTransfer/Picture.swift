import Foundation

/// A progress bar as a PNG file. The file is simple enough to be written without a graphics library.
struct Picture {
    /// The progress from 0 to 1.
    var progress: Double

    private static let width = 200
    private static let height = 40

    var png: Data {
        var header = Data()
        header.append(bigEndian: UInt32(Self.width))
        header.append(bigEndian: UInt32(Self.height))
        // The image has 8 bits of grey per pixel, deflate compression and adaptive filters, and is not interlaced.
        header.append(contentsOf: [8, 0, 0, 0, 0])
        var file = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        file.append(chunk("IHDR", header))
        file.append(chunk("IDAT", Self.zlib(pixels)))
        file.append(chunk("IEND", Data()))
        return file
    }

    /// The image data. Every row begins with its filter type, which is 0 for no filter.
    private var pixels: Data {
        let filled = Int(progress * Double(Self.width))
        let row = [0] + (0..<Self.width).map { UInt8($0 < filled ? 0x30 : 0xD0) }
        return Data((0..<Self.height).flatMap { _ in row })
    }

    private func chunk(_ kind: String, _ data: Data) -> Data {
        let body = Data(kind.utf8) + data
        var chunk = Data()
        chunk.append(bigEndian: UInt32(data.count))
        chunk.append(body)
        chunk.append(bigEndian: Self.crc32(body))
        return chunk
    }

    /// Wraps data in a zlib stream with one stored block (RFC 1950 and 1951).
    private static func zlib(_ data: Data) -> Data {
        let count = UInt16(data.count)
        var stream = Data([0x78, 0x01, 0x01])
        for value in [count, ~count] { stream.append(contentsOf: [UInt8(value & 0xFF), UInt8(value >> 8)]) }
        stream.append(data)
        var low: UInt32 = 1
        var high: UInt32 = 0
        for byte in data {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        stream.append(bigEndian: high << 16 | low)
        return stream
    }

    private static func crc32(_ data: Data) -> UInt32 {
        var crc = ~UInt32(0)
        for byte in data {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        return ~crc
    }
}

extension Data {
    fileprivate mutating func append(bigEndian value: UInt32) {
        for shift in [24, 16, 8, 0] { append(UInt8(truncatingIfNeeded: value >> UInt32(shift))) }
    }
}
