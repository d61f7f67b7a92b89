import NightshiftAPI

/// Whether a download may use several connections.
package enum SegmentEligibility {
    /// Why not.
    package enum Obstacle: String, Hashable, Sendable, CaseIterable {
        case method, unknownLength, noStrongValidator, rangesNotProven, encoded, tooLittleLeft

        package var sentence: String {
            switch self {
            case .method: "Only what GET gives can be fetched in parts."
            case .unknownLength: "The server did not say how long the file is."
            case .noStrongValidator: "The server gave nothing that proves that two parts are of the same version."
            case .rangesNotProven: "The server did not say that it sends parts of this file."
            case .encoded: "The server sent the file encoded; parts of it may not fit."
            case .tooLittleLeft: "Too little is left for another connection to be worth it."
            }
        }
    }

    /// The reason against segments, after a head was accepted with `count` bytes of the file here or under way before it.
    ///
    /// - Parameters:
    ///   - head: the accepted response's.
    ///   - representation: what it told.
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

    /// Bytes. A connection has to be made, and grow to its speed; at a tenth of a second per round trip the first one brings
    /// this much meanwhile, and no gain could be measured any more.
    package static let leastMissing: Int64 = 4 << 20
}

extension ResponseHead {
    var offersRanges: Bool {
        headers.first("Accept-Ranges")?.trimmedOfBlanks.lowercased() == "bytes"
    }
}
