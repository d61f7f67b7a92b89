/// The known state of a resumable upload at the server. It is stored to survive a crash.
///
/// A new ``url`` must be committed before many bytes are sent to it. Later changes may be committed at any time.
package struct UploadResource: Hashable, Sendable, Codable {
    /// The absolute, encoded URL of the upload resource.
    package var url: String
    /// The protocol of the upload. It is never ``UploadProtocol/plain``.
    package var uploadProtocol: UploadProtocol
    /// The number of bytes from the start of the body that the server has acknowledged. It never decreases.
    package var offset: Int64
    /// The length of the whole body in bytes.
    package var length: Int64
    /// A value that changes with every change of the body's bytes.
    package var source: String
    package var limits: UploadLimits?
    /// The maximum size of the content of one request, as the server announced it or as the service learned it from
    /// refusals.
    package var partSize: Int64?
    /// The time of expiry in seconds since 1970.
    package var expiresAt: Double?
    /// Whether credentials and secret header fields are sent to the upload resource. This requires that its URL has the
    /// origin of the request, and that this origin named the URL.
    package var sharesSecrets: Bool
    /// The last suspect response, because of which the service has not abandoned the upload resource yet.
    package var doubt: SuspectResponse?

    package init(
        url: String, uploadProtocol: UploadProtocol, offset: Int64 = 0, length: Int64, source: String,
        sharesSecrets: Bool
    ) {
        self.url = url
        self.uploadProtocol = uploadProtocol
        self.offset = offset
        self.length = length
        self.source = source
        self.sharesSecrets = sharesSecrets
    }
}
