/// What the server keeps of an upload that can be continued, as far as it is known here: the row that outlives a crash.
///
/// To be committed when its ``url`` is new, before the bytes that it saves are many; the rest may follow when it suits.
package struct UploadResource: Hashable, Sendable, Codable {
    /// Absolute and encoded.
    package var url: String
    /// Never ``UploadProtocol/plain``.
    package var uploadProtocol: UploadProtocol
    /// Bytes from the body's beginning that the server has acknowledged. Never decreases.
    package var offset: Int64
    /// Of the whole body.
    package var length: Int64
    /// Changes with every change of the body's bytes.
    package var source: String
    package var limits: UploadLimits?
    /// Content of one request at most, as announced or as found out by refusals.
    package var partSize: Int64?
    /// Seconds since 1970.
    package var expiresAt: Double?
    /// Whether credential and secret fields go there: it lies at the request's own origin and was named from there.
    package var sharesSecrets: Bool
    /// An answer for which it is not given up yet.
    package var doubt: AnswerDoubt?

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
