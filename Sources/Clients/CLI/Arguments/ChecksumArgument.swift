import ArgumentParser
import NightshiftAPI

/// A parser for checksums such as `sha-256:9f86…`. The hyphen is optional.
enum ChecksumArgument {
    static func parse(_ text: String) throws -> Checksum {
        let parts = text.split(separator: ":", maxSplits: 1).map { $0.lowercased() }
        let known = Checksum.Algorithm.allCases
        guard parts.count == 2,
            let algorithm = known.first(where: {
                $0.rawValue == parts[0] || $0.rawValue.filter { $0 != "-" } == parts[0]
            })
        else {
            throw ValidationError(
                "write a checksum as ALGORITHM:HEX, with one of the algorithms "
                    + known.map(\.rawValue).joined(separator: ", ")
            )
        }
        guard parts[1].count == algorithm.hexLength, parts[1].allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
            throw ValidationError("a \(algorithm.rawValue) checksum has \(algorithm.hexLength) hexadecimal digits")
        }
        return Checksum(algorithm: algorithm, hex: parts[1])
    }
}
