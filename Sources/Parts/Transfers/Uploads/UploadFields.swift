import NightshiftAPI
import Store

/// The fields of a response that concern an upload.
struct UploadFields {
    /// Whether the response has any fields of an upload protocol. A response without them may come from an
    /// intermediary.
    var areSpoken: Bool
    /// `Upload-Draft-Interop-Version`, whether or not this client supports it.
    var version: Int64?
    /// Whether the upload is complete, from either of the two possible fields. Final responses of SwiftNIO have the
    /// field of the other version. Nil if both fields are missing, or contradict each other.
    var isComplete: Bool?
    var offset: Int64?
    var length: Int64?
    var limits: UploadLimits?
    var location: String?
    /// The value of `Upload-Expires` (tus), in seconds since 1970.
    var expires: Double?

    init(_ headers: [HeaderField]) {
        areSpoken = headers.contains { field in
            ["upload-", "tus-"].contains { field.name.lowercased().hasPrefix($0) }
        }
        version = StructuredField.count(headers.all("Upload-Draft-Interop-Version"))
        offset = StructuredField.count(headers.all("Upload-Offset"))
        length = StructuredField.count(headers.all("Upload-Length"))
        limits = UploadLimits(headers: headers)
        let location = headers.first("Location")?.trimmedOfBlanks
        self.location = location?.isEmpty == true ? nil : location
        expires = headers.first("Upload-Expires").flatMap(HTTPDate.parse)
        let complete = StructuredField.boolean(headers.all("Upload-Complete"))
        let incomplete = StructuredField.boolean(headers.all("Upload-Incomplete"))
        isComplete = complete != nil && complete == incomplete ? nil : complete ?? incomplete.map { !$0 }
    }
}
