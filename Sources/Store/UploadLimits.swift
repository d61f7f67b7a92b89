/// What a server says in `Upload-Limit` of the uploads that it takes; sizes in bytes.
package struct UploadLimits: Hashable, Sendable, Codable {
    /// Of the whole body.
    package var maxSize: Int64?
    package var minSize: Int64?
    /// Of one request's content.
    package var maxAppendSize: Int64?
    /// Of one request's content, the last one's excepted.
    package var minAppendSize: Int64?
    /// Seconds that the upload resource has from the response on.
    package var maxAge: Int64?

    package init() {}
}
