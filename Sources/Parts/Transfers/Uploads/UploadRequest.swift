package import NightshiftAPI

/// The requested upload: a body and the URL that an ordinary request would send it to.
package struct UploadTarget: Hashable, Sendable {
    /// The absolute, percent-encoded URL.
    package var url: String
    package var method: String
    package var headers: [HeaderField]
    /// The number of bytes in the body.
    package var length: Int64
    /// A text that changes with every change of the body's bytes. The text is made from the identities of the body's
    /// files and from all other content.
    package var source: String
    /// The name under which a server may store the file (tus).
    package var fileName: String?

    package init(
        url: String, method: String, headers: [HeaderField], length: Int64, source: String, fileName: String? = nil
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.length = length
        self.source = source
        self.fileName = fileName
    }
}

/// One request of an upload, in the form in which it is sent.
package struct UploadRequest: Hashable, Sendable {
    package enum Purpose: Hashable, Sendable {
        /// The original request, or the request that creates the upload resource.
        case create
        /// The query for the offset.
        case query
        case append
        /// The request to delete the upload.
        case cancel
    }

    package var purpose: Purpose
    package var url: String
    package var method: String
    /// All header fields. Fields with secrets are included only if the target may receive them.
    package var headers: [HeaderField]
    /// The range of the body that the request sends; nil for a request without content.
    package var body: Range<Int64>?
    /// Whether the task's credential and client certificate are used.
    package var sharesSecrets: Bool
    /// Whether the body ends with this content.
    package var completes: Bool

    /// The number of bytes in the content.
    package var count: Int64 { body.map { $0.upperBound - $0.lowerBound } ?? 0 }
}
