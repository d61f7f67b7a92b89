import NightshiftAPI
package import TestSupport

/// One version of a file that a scripted origin serves.
package struct ScriptedVersion: Sendable, Hashable {
    package var content: SeededContent
    /// The entity tag exactly as the server sends it, including quotes and `W/`.
    package var entityTag: String?
    package var lastModified: String?
    /// Whether responses have a `Content-Length`.
    package var announcesLength = true
    package var acceptsRanges = true
    /// The value of `Content-Type`.
    package var mediaType: String?
    /// The value of `Repr-Digest` exactly as the server sends it, right or wrong.
    package var digest: String?

    package init(seed: UInt64, size: Int64, entityTag: String?, lastModified: String? = nil) {
        content = SeededContent(seed: seed, size: size)
        self.entityTag = entityTag
        self.lastModified = lastModified
    }

    /// The header fields with the validators and the length of the whole file.
    var fields: [HeaderField] {
        var fields: [HeaderField] = []
        if let entityTag { fields.append(HeaderField(name: "ETag", value: entityTag)) }
        if let lastModified { fields.append(HeaderField(name: "Last-Modified", value: lastModified)) }
        if let mediaType { fields.append(HeaderField(name: "Content-Type", value: mediaType)) }
        if let digest { fields.append(HeaderField(name: "Repr-Digest", value: digest)) }
        fields.append(HeaderField(name: "Accept-Ranges", value: acceptsRanges ? "bytes" : "none"))
        return fields
    }

    /// Returns whether a range that depends on `condition` (`If-Range`) is served.
    func satisfies(_ condition: String?) -> Bool {
        guard let condition else { return true }
        if condition.hasPrefix("\"") { return condition == entityTag }
        return condition == lastModified
    }
}

/// A file of a scripted origin, with its successive versions.
package struct ScriptedResource: Sendable {
    package var versions: [ScriptedVersion]
    /// The index of the version that is served now.
    package var current = 0
    /// The behaviours of the next exchanges, one for each. After them, ``ScriptedTransport/weather`` decides.
    package var script: [ScriptedBehaviour]
    /// The number of bytes of the current version that the response to an upload contains.
    package var uploadAnswer: Int64 = 0
    /// The proof that requests must contain, or nil if none is required.
    package var protection: ScriptedProtection?

    package init(_ versions: [ScriptedVersion], script: [ScriptedBehaviour] = []) {
        self.versions = versions
        self.script = script
    }
}

/// The behaviour of one exchange.
package enum ScriptedBehaviour: Sendable, Hashable {
    case normal
    case cannotConnect
    /// The service has no descriptor left for a connection.
    case noDescriptors
    /// The resource redirects to an address that accepts no connections.
    case deadRedirect
    /// The connection is established, but the server never sends any bytes.
    case silent
    /// The body stops after this many bytes, and the connection stays open. An upload is received whole and gets no
    /// response.
    case stall(after: Int64)
    /// The connection breaks after this many bytes of the body.
    case cut(after: Int64)
    /// The body ends after this many bytes, without a connection error.
    case short(after: Int64)
    /// The response is a status without a file, with a `Retry-After` if given.
    case status(Int, retryAfter: String? = nil)
    /// The response is a status with these fields, and no body.
    case says(Int, [String: String])
    /// The response is the whole file instead of the range.
    case ignoreRange
    /// The part starts this many bytes before the requested range.
    case earlyPart(by: Int64)
    /// The `Content-Range` names bytes after the requested ones.
    case latePart
    /// The `Content-Range` gives a wrong total length.
    case wrongTotal
    /// The response is the whole file, with two lengths: first a larger one, then the right one.
    case twoLengths
    /// The response is a part without validators.
    case anonymousPart
    /// The response has more bytes than it announced.
    case long(by: Int64)
    /// The file is replaced during the transfer of the body, and the connection breaks.
    case replaced(after: Int64)
    /// The response is a 416 that does not give the length.
    case unsatisfiable
    /// An intermediary responds with a page of 18 bytes.
    case page
}
