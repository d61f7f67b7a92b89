/// The limits that a server announces in `Upload-Limit`. Sizes are in bytes.
package struct UploadLimits: Hashable, Sendable, Codable {
    /// The maximum size of the whole body.
    package var maxSize: Int64?
    package var minSize: Int64?
    /// The maximum size of the content of one request.
    package var maxAppendSize: Int64?
    /// The minimum size of the content of one request, except the last request.
    package var minAppendSize: Int64?
    /// The lifetime of the upload resource in seconds, counted from the response.
    package var maxAge: Int64?

    package init() {}
}
