import NightshiftAPI
import Store

/// What a response says of an upload.
struct UploadFields {
    /// Whether there are any words of an upload's protocol: what has none may be of somebody in between.
    var areSpoken: Bool
    /// `Upload-Draft-Interop-Version`, whether it is spoken here or not.
    var version: Int64?
    /// Completeness, said either way: NIO's final responses carry the field of the other version. Nil where nothing
    /// is said, or both and the opposite.
    var isComplete: Bool?
    var offset: Int64?
    var length: Int64?
    var limits: UploadLimits?
    var location: String?
    /// `Upload-Expires` of tus, in seconds since 1970.
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
