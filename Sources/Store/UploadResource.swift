/// The known state of a resumable upload at the server, which is stored to survive a crash.
///
/// Commit it when ``url`` is new, before many bytes depend on it. Later changes may be committed at any time.
package struct UploadResource: Hashable, Sendable, Codable {
    /// The absolute, encoded URL.
    package var url: String
    /// The protocol; never ``UploadProtocol/plain``.
    package var uploadProtocol: UploadProtocol
    /// The number of leading body bytes that the server has acknowledged. It never decreases.
    package var offset: Int64
    /// The length of the whole body.
    package var length: Int64
    /// A value that changes with every change of the body's bytes.
    package var source: String
    package var limits: UploadLimits?
    /// The maximum content of one request, as announced or as learned from refusals.
    package var partSize: Int64?
    /// The expiry in seconds since 1970.
    package var expiresAt: Double?
    /// Whether credentials and secret header fields are sent there. The URL must have the request's own origin, and
    /// must have been named by it.
    package var sharesSecrets: Bool
    /// A suspect response for which the upload resource is not given up yet.
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
