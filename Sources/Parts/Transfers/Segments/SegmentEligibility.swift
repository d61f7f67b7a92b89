import NightshiftAPI

/// The decision on whether a download may use several connections.
package enum SegmentEligibility {
    /// The reason for a single connection.
    package enum Obstacle: String, Hashable, Sendable, CaseIterable {
        case method, unknownLength, noStrongValidator, rangesNotProven, encoded, tooLittleLeft

        package var sentence: String {
            switch self {
            case .method: "Only GET downloads can use several connections."
            case .unknownLength: "The server did not announce the length of the file."
            case .noStrongValidator:
                "The server sent no strong validator, so parts of different versions could not be told apart."
            case .rangesNotProven: "The server did not announce support for ranges of this file."
            case .encoded: "The server sent the file with a content coding, so its parts may not fit together."
            case .tooLittleLeft: "Too few bytes are missing for another connection to be worthwhile."
            }
        }
    }

    /// Returns the reason against several connections, after a head was accepted. `count` bytes of the file are on disk
    /// or in progress before this response.
    ///
    /// - Parameters:
    ///   - head: the head of the accepted response.
    ///   - representation: the facts from the head.
    package static func obstacle(
        method: String, head: ResponseHead, representation: Representation, count: Int64
    ) -> Obstacle? {
        guard method == "GET" else { return .method }
        guard let total = representation.total else { return .unknownLength }
        guard !head.isEncoded else { return .encoded }
        let validators = representation.validators
        guard validators.strongEntityTag != nil || validators.strongLastModified != nil else {
            return .noStrongValidator
        }
        guard head.status == 206 || head.offersRanges else { return .rangesNotProven }
        return total - count >= leastMissing ? nil : .tooLittleLeft
    }

    /// The minimum number of missing bytes for a split. A new connection needs time to open and to reach its speed.
    /// With a round trip of a tenth of a second, the first connection receives this many bytes in that time, and no
    /// gain could be measured.
    package static let leastMissing: Int64 = 4 << 20
}

extension ResponseHead {
    var offersRanges: Bool {
        headers.first("Accept-Ranges")?.trimmedOfBlanks.lowercased() == "bytes"
    }
}
