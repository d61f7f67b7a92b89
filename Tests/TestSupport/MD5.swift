import Glibc

/// MD5 (RFC 1321), which HTTP's Digest authentication still uses.
package enum MD5 {
    private static let shifts: [UInt32] = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21]

    private static let sines: [UInt32] = (1...64).map { UInt32(abs(sin(Double($0))) * 4_294_967_296) }

    package static func hash(_ message: [UInt8]) -> [UInt8] {
        var bytes = message + [0x80]
        bytes += [UInt8](repeating: 0, count: (119 - message.count % 64) % 64)
        let bits = UInt64(message.count) * 8
        for shift in stride(from: UInt64(0), to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: bits >> shift)) }

        var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476]
        for block in stride(from: 0, to: bytes.count, by: 64) {
            let words = (0..<16).map { word in
                (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[block + 4 * word + $1]) << UInt32(8 * $1) }
            }
            var (a, b, c, d) = (state[0], state[1], state[2], state[3])
            for step in 0..<64 {
                let mixed: UInt32
                let word: Int
                switch step / 16 {
                case 0: (mixed, word) = ((b & c) | (~b & d), step)
                case 1: (mixed, word) = ((d & b) | (~d & c), (5 * step + 1) % 16)
                case 2: (mixed, word) = (b ^ c ^ d, (3 * step + 5) % 16)
                default: (mixed, word) = (c ^ (b | ~d), (7 * step) % 16)
                }
                let sum = a &+ mixed &+ sines[step] &+ words[word]
                let shift = shifts[step / 16 * 4 + step % 4]
                (a, d, c, b) = (d, c, b, b &+ (sum << shift | sum >> (32 - shift)))
            }
            state[0] &+= a
            state[1] &+= b
            state[2] &+= c
            state[3] &+= d
        }
        return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * UInt32($0))) } }
    }
}
