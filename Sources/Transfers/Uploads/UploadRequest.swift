package import NightshiftAPI

/// The upload that was asked for: a body to a URL, as an ordinary request would bring it.
package struct UploadTarget: Hashable, Sendable {
    /// Absolute and encoded.
    package var url: String
    package var method: String
    package var headers: [HeaderField]
    /// Bytes of the body.
    package var length: Int64
    /// Changes with every change of the body's bytes: made from the identities of its files and whatever else is in it.
    package var source: String
    /// The name a server may keep the file under (tus).
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

/// One request of an upload, as it is to go out.
package struct UploadRequest: Hashable, Sendable {
    package enum Purpose: Hashable, Sendable {
        /// The request that was asked for, or what stands for it.
        case create
        /// Where to go on.
        case query
        case append
        /// The server may forget the upload.
        case cancel
    }

    package var purpose: Purpose
    package var url: String
    package var method: String
    /// All fields; those with secrets only where they may go.
    package var headers: [HeaderField]
    /// The bytes of the body that are the content; nil for a request without content.
    package var body: Range<Int64>?
    /// Whether the task's credential and client certificate go along.
    package var sharesSecrets: Bool
    /// Whether the body ends with this content.
    package var completes: Bool

    /// Bytes of content.
    package var count: Int64 { body.map { $0.upperBound - $0.lowerBound } ?? 0 }
}
