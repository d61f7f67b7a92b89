package import Foundation

/// A protocol for resuming an upload after an interruption.
package enum ResumptionProtocol: String, Sendable, Codable, CaseIterable {
    /// The protocol of draft-ietf-httpbis-resumable-upload if the server supports it, or otherwise an ordinary request.
    case draft
    /// The protocol tus 1.0.0 (tus.io). The server must support it.
    case tus
    /// An ordinary request, without resumption.
    case plain
}

/// The handling of the source file when an upload is accepted.
package enum SnapshotPolicy: String, Sendable, Codable, CaseIterable {
    /// A copy by the service if the file system can copy without duplicating the bytes. On other file systems, the file
    /// must not be changed during the upload.
    case reflink
    /// A copy by the service in every case.
    case copy
}

/// One field of a form to upload: a text or a file.
package struct FormField: Hashable, Sendable, Codable {
    package var name: String
    package var value: String?
    /// The absolute path of a file, which replaces ``value``.
    package var source: String?
    /// The file name that is sent to the server; by default the actual name of the file.
    package var fileName: String?
    /// The media type; `application/octet-stream` for files by default.
    package var contentType: String?

    package init(
        name: String, value: String? = nil, source: String? = nil, fileName: String? = nil, contentType: String? = nil
    ) {
        self.name = name
        self.value = value
        self.source = source
        self.fileName = fileName
        self.contentType = contentType
    }
}

/// The state of an unfinished upload on the server.
package struct UploadStatus: Hashable, Sendable, Codable {
    /// The protocol of the upload. It is never ``ResumptionProtocol/plain``.
    package var resumption: ResumptionProtocol
    /// The value of `Upload-Draft-Interop-Version` in the draft protocol.
    package var interopVersion: Int64?
    package var countOfBytesAcknowledged: Int64
    package var expiresAt: Date?

    package init(
        resumption: ResumptionProtocol, interopVersion: Int64? = nil, countOfBytesAcknowledged: Int64,
        expiresAt: Date? = nil
    ) {
        self.resumption = resumption
        self.interopVersion = interopVersion
        self.countOfBytesAcknowledged = countOfBytesAcknowledged
        self.expiresAt = expiresAt
    }
}
