import NightshiftAPI
package import TestSupport

/// One version of a file that a scripted origin serves.
package struct ScriptedVersion: Sendable, Hashable {
    package var content: SeededContent
    /// As it is sent, quotes and `W/` included.
    package var entityTag: String?
    package var lastModified: String?
    /// Whether responses have a `Content-Length`.
    package var announcesLength = true
    package var acceptsRanges = true
    /// `Content-Type`.
    package var mediaType: String?
    /// `Repr-Digest`, as it is sent: true or not.
    package var digest: String?

    package init(seed: UInt64, size: Int64, entityTag: String?, lastModified: String? = nil) {
        content = SeededContent(seed: seed, size: size)
        self.entityTag = entityTag
        self.lastModified = lastModified
    }

    /// The validators and the length of the whole, as fields.
    var fields: [HeaderField] {
        var fields: [HeaderField] = []
        if let entityTag { fields.append(HeaderField(name: "ETag", value: entityTag)) }
        if let lastModified { fields.append(HeaderField(name: "Last-Modified", value: lastModified)) }
        if let mediaType { fields.append(HeaderField(name: "Content-Type", value: mediaType)) }
        if let digest { fields.append(HeaderField(name: "Repr-Digest", value: digest)) }
        fields.append(HeaderField(name: "Accept-Ranges", value: acceptsRanges ? "bytes" : "none"))
        return fields
    }

    /// Whether a range that depends on `condition` (`If-Range`) is served.
    func satisfies(_ condition: String?) -> Bool {
        guard let condition else { return true }
        if condition.hasPrefix("\"") { return condition == entityTag }
        return condition == lastModified
    }
}

/// A file of a scripted origin, with the versions it goes through.
package struct ScriptedResource: Sendable {
    package var versions: [ScriptedVersion]
    /// Which version is served now.
    package var current = 0
    /// What happens to the next exchanges, one each; then ``ScriptedTransport/weather`` decides.
    package var script: [ScriptedBehaviour]
    /// Bytes of the present version that the answer to an upload brings.
    package var uploadAnswer: Int64 = 0
    /// The proof that requests have to give; none unless set.
    package var protection: ScriptedProtection?

    package init(_ versions: [ScriptedVersion], script: [ScriptedBehaviour] = []) {
        self.versions = versions
        self.script = script
    }
}

/// How one exchange goes.
package enum ScriptedBehaviour: Sendable, Hashable {
    case normal
    case cannotConnect
    /// The service has no descriptor left for a connection.
    case noDescriptors
    /// The resource answers with a redirect to an address that takes no connections.
    case deadRedirect
    /// The connection stands and nothing is ever said.
    case silent
    /// Nothing more comes after so many bytes of the body; an upload is taken whole and never answered.
    case stall(after: Int64)
    /// The connection breaks after so many bytes of the body.
    case cut(after: Int64)
    /// The body ends, without an error of the connection, after so many bytes.
    case short(after: Int64)
    /// A status without a file, with a `Retry-After` where given.
    case status(Int, retryAfter: String? = nil)
    /// A status with these fields, and no body.
    case says(Int, [String: String])
    /// The whole file instead of the range.
    case ignoreRange
    /// The part begins so many bytes before what was asked for.
    case earlyPart(by: Int64)
    /// The `Content-Range` names bytes other than those asked for, behind them.
    case latePart
    /// The `Content-Range` tells of a file of another length.
    case wrongTotal
    /// The whole file, announced as longer first, and as what it is then.
    case twoLengths
    /// A part without any validator.
    case anonymousPart
    /// More bytes than were announced.
    case long(by: Int64)
    /// The file is replaced while the body is under way, and the connection breaks.
    case replaced(after: Int64)
    /// A 416 with nothing said of the length.
    case unsatisfiable
    /// Somebody in between answers with a page of 18 bytes.
    case page
}
