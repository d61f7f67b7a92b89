import ArgumentParser

/// A number of bytes as people write it, such as `300M`, `64K` or `1G`, with powers of 1024.
struct ByteCount: ExpressibleByArgument {
    let bytes: Int64

    init(_ bytes: Int64) {
        self.bytes = bytes
    }

    init?(argument: String) {
        let shifts: [Character: Int64] = ["K": 10, "M": 20, "G": 30]
        let shift = argument.last.flatMap { shifts[Character($0.uppercased())] }
        guard let number = Int64(shift == nil ? argument[...] : argument.dropLast()), number >= 0,
            number <= Int64.max >> (shift ?? 0)
        else { return nil }
        bytes = number << (shift ?? 0)
    }

    var defaultValueDescription: String {
        let units: [(Int64, String)] = [(30, "G"), (20, "M"), (10, "K")]
        let unit = units.first { bytes > 0 && bytes % (1 << $0.0) == 0 }
        return unit.map { "\(bytes >> $0.0)\($0.1)" } ?? "\(bytes)"
    }
}
