/// The protocol of an upload.
package enum UploadProtocol: Hashable, Sendable, Codable {
    /// A plain upload: one request contains the whole body.
    case plain
    /// The protocol of draft-ietf-httpbis-resumable-upload, in one of its incompatible versions.
    case draft(InteropVersion)
    /// The protocol tus 1.0.0 (tus.io/protocols/resumable-upload). It is used only on request, because the response to
    /// an ordinary request does not show that a server supports it.
    case tus
}

/// A value of `Upload-Draft-Interop-Version`. Drafts with the same number are compatible.
///
/// Apple's platforms have sent these numbers: 3 from iOS 17, 5 from 18.0, 6 from 18.1 and 8 from 26 on.
package enum InteropVersion: Int64, Hashable, Sendable, Codable, CaseIterable, Comparable {
    /// Draft -01, with `Upload-Incomplete` instead of `Upload-Complete`.
    case v3 = 3
    /// Draft -03.
    case v5 = 5
    /// Drafts -04 and -05: appends have a media type, and a field announces the length.
    case v6 = 6
    /// Drafts -09 and later.
    case v8 = 8

    package static let latest = InteropVersion.v8

    package static func < (left: InteropVersion, right: InteropVersion) -> Bool { left.rawValue < right.rawValue }
}
