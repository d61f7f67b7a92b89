package import NightshiftAPI
package import Store

/// One upload, from its first request to the answer that counts, through any number of breaks. A machine without I/O.
///
/// The caller sends what ``next()`` says, tells of heads and of the exchange's end, and does what the verdict says. What
/// has to survive a crash is ``resource``.
package struct ResumableUpload: Hashable, Sendable {
    package let target: UploadTarget
    /// What the server keeps of it; nil as long as the upload could only be sent anew.
    package internal(set) var resource: UploadResource?
    /// How the next upload resource is asked for.
    var uploadProtocol: UploadProtocol
    /// Versions of the draft that were tried already.
    var triedVersions: Set<InteropVersion> = []
    /// Whether the resource's offset is the server's last word, so that nothing has to be asked.
    var knowsOffset = false
    /// Content of one request at most, found out before there was a resource.
    var partSize: Int64?
    /// Where a query was redirected to; until the next break requests go there at once.
    var moved: Place?

    // The exchange under way.
    var sent: UploadRequest?
    /// Whether the server tells how much has arrived.
    var tellsProgress = false
    /// URL that named the resource in this exchange.
    var namedBy: String?
    /// Whether this exchange named two different resources.
    var isAmbiguous = false
    var stop: Stop?
    /// Whether an interim response of this exchange was in the protocol's words: then the final one is of the same server.
    var hasSpoken = false

    // Counters that keep it from going round in circles.
    /// The most that was acknowledged by any resource.
    var highestOffset: Int64
    /// Requests since that grew.
    var futileRequests = 0
    var serverErrors = 0

    struct Place: Hashable, Sendable {
        var url: String
        var sharesSecrets: Bool
    }

    /// Why an exchange is broken off from here.
    enum Stop: Hashable, Sendable {
        case partsOnly
        case tooLarge(limit: Int64)
    }

    /// - Parameters:
    ///   - resource: what is known from an earlier run. That of another source, of another length, or of a target at another origin
    ///     is not continued.
    ///   - uploadProtocol: ``UploadProtocol/draft(_:)`` begins with an ordinary request that can become resumable. Its version is the one
    ///     that the origin was last known to speak.
    package init(
        _ target: UploadTarget, resource: UploadResource? = nil, uploadProtocol: UploadProtocol = .draft(.latest)
    ) {
        self.target = target
        if let resource, resource.isUsable(for: target) {
            self.resource = resource
            self.uploadProtocol = resource.uploadProtocol
        } else {
            self.uploadProtocol = Self.supportedProtocol(uploadProtocol, for: target)
        }
        highestOffset = self.resource?.offset ?? 0
        if case .draft(let version) = self.uploadProtocol { triedVersions = [version] }
    }

    /// Bytes of the body that have arrived, given what this exchange has handed to the connection: the server's word where
    /// it gives one.
    package func progress(handedOver: Int64) -> Int64 {
        guard let body = sent?.body else { return resource?.offset ?? 0 }
        if tellsProgress, let resource { return resource.offset }
        return min(body.lowerBound + max(0, handedOver), body.upperBound)
    }

    /// An app that speaks such a protocol by itself, or sends a part with PUT, is not spoken over; an empty body needs none.
    private static func supportedProtocol(_ uploadProtocol: UploadProtocol, for target: UploadTarget) -> UploadProtocol
    {
        guard case .draft = uploadProtocol else { return uploadProtocol }
        let own = target.headers.contains { ownProtocolFields.contains($0.name.lowercased()) }
        return own || target.length == 0 ? .plain : uploadProtocol
    }

    private static let ownProtocolFields: Set<String> = [
        "upload-draft-interop-version", "upload-complete", "upload-incomplete", "upload-offset", "tus-resumable",
        "content-range",
    ]
}

extension UploadResource {
    /// Whether an upload to `target` may go on with it.
    ///
    /// What shares secrets lies at the origin of its own target. Elsewhere it is of an upload to another server, which is not to
    /// see what is meant for this one.
    fileprivate func isUsable(for target: UploadTarget) -> Bool {
        source == target.source && length == target.length
            && (!sharesSecrets || TransferURL.areOfOneOrigin(url, target.url))
    }
}

/// The verdict on an answer or a break.
package enum UploadVerdict: Hashable, Sendable {
    /// The head that was told last, with its body, is the answer to the upload, whatever its status.
    case finished
    /// Bytes were acknowledged: send ``ResumableUpload/next()`` at once.
    case proceed
    /// Send ``ResumableUpload/next()`` at once; nothing was lost.
    case askAgain(reason: String)
    /// Send ``ResumableUpload/next()`` at once; what the server had is lost, the body is sent from its beginning.
    case startAgain(reason: String)
    /// Trouble that passes: send ``ResumableUpload/next()`` later.
    case retryLater(TransferFailure, after: RetryAfter?)
    /// The answer may not be the server's at all: send ``ResumableUpload/next()`` later; nothing was lost. See ``AnswerDoubts``.
    case doubt(TransferFailure)
    case fail(TransferFailure)
}

/// The verdict on an interim response.
package enum InterimVerdict: Hashable, Sendable {
    case ignored
    /// More has arrived; see ``ResumableUpload/progress(handedOver:)``.
    case acknowledged
    /// The upload has become resumable: ``ResumableUpload/resource`` is to be committed.
    case resumable
    /// The exchange is to be cancelled, then ``ResumableUpload/broke()`` to be asked what follows. The resource may be new.
    case stop
}
