import ArgumentParser
import NightshiftAPI

/// A rate in bytes per second on the command line: `500K`, `2M`, `1.5M`, `100000`. The units K, M and G are powers of
/// 1024, as in curl and wget.
struct Rate: Hashable, Sendable {
    /// The rate in bytes per second. 0 means no limit.
    var bytesPerSecond: Int64

    static func parse(_ text: String) throws -> Rate {
        if ["none", "unlimited"].contains(text.lowercased()) { return Rate(bytesPerSecond: 0) }
        let bytes = text.lowercased().hasSuffix("/s") ? text.dropLast(2) : text[...]
        guard let rate = ByteCount.parse(bytes) else {
            throw ValidationError("a rate is a number with K, M or G, such as 500K or 1.5M, or 'none'")
        }
        return Rate(bytesPerSecond: rate)
    }
}
