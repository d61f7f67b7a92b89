package import Foundation

/// How an upload may be continued after a break.
package enum ResumptionProtocol: String, Sendable, Codable, CaseIterable {
    /// draft-ietf-httpbis-resumable-upload where the server speaks it, an ordinary request where it does not.
    case draft
    /// tus 1.0.0 (tus.io), which the server has to speak.
    case tus
    /// Nothing but the request itself.
    case plain
}

/// What happens to a file to upload when the task is accepted.
package enum SnapshotPolicy: String, Sendable, Codable, CaseIterable {
    /// The service keeps a copy where the file system makes one without copying bytes; elsewhere the file must stay as it is.
    case reflink
    /// The service keeps a copy in any case.
    case copy
}

/// One field of a form that is uploaded: a text or a file.
package struct FormField: Hashable, Sendable, Codable {
    package var name: String
    package var value: String?
    /// The absolute path of a file, in place of ``value``.
    package var source: String?
    /// What the server is told that the file is called; its own name unless given.
    package var fileName: String?
    /// `application/octet-stream` for files unless given.
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

/// What a server keeps of an unfinished upload.
package struct UploadStatus: Hashable, Sendable, Codable {
    /// Never ``ResumptionProtocol/plain``.
    package var resumption: ResumptionProtocol
    /// `Upload-Draft-Interop-Version`, in the draft.
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
