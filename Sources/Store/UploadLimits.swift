/// The limits that a server announces in `Upload-Limit`; sizes in bytes.
package struct UploadLimits: Hashable, Sendable, Codable {
    /// The maximum size of the whole body.
    package var maxSize: Int64?
    package var minSize: Int64?
    /// The maximum content of one request.
    package var maxAppendSize: Int64?
    /// The minimum content of one request, except the last one.
    package var minAppendSize: Int64?
    /// The lifetime of the upload resource in seconds from the response on.
    package var maxAge: Int64?

    package init() {}
}
