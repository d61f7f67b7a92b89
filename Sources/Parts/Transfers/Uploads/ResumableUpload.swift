package import NightshiftAPI
package import Store

/// One upload, from its first request to its final response, through any number of interruptions. This is a state
/// machine without I/O.
///
/// The caller sends the request from ``next()``, passes in heads and the end of the exchange, and follows the verdict.
/// Only ``resource`` has to survive a crash.
package struct ResumableUpload: Hashable, Sendable {
    package let target: UploadTarget
    /// The part of the upload that the server stores; nil while the upload can only be sent from the start.
    package internal(set) var resource: UploadResource?
    /// The protocol that is used to request the next upload resource.
    var uploadProtocol: UploadProtocol
    /// The versions of the draft that were already tried.
    var triedVersions: Set<InteropVersion> = []
    /// Whether the resource's offset is the latest one from the server, so that no query is needed.
    var knowsOffset = false
    /// The maximum content of one request in bytes, if a limit was found before there was a resource.
    var partSize: Int64?
    /// The redirect target of a query. Until the next interruption, the service sends requests there directly.
    var moved: Place?

    // The properties of the current exchange follow.
    var sent: UploadRequest?
    /// Whether the server reports how many bytes have arrived.
    var tellsProgress = false
    /// The URL whose response named the resource in this exchange.
    var namedBy: String?
    /// Whether this exchange named two different resources.
    var isAmbiguous = false
    var stop: Stop?
    /// Whether an interim response of this exchange had fields of the protocol. The final response is then from the
    /// same server.
    var hasSpoken = false

    // The counters below prevent endless loops.
    /// The highest offset that any resource has acknowledged.
    var highestOffset: Int64
    /// The number of requests since the highest offset last grew.
    var futileRequests = 0
    var serverErrors = 0

    struct Place: Hashable, Sendable {
        var url: String
        var sharesSecrets: Bool
    }

    /// The reason why the client ends an exchange.
    enum Stop: Hashable, Sendable {
        case partsOnly
        case tooLarge(limit: Int64)
    }

    /// Creates an upload that starts, or that continues at a known resource.
    ///
    /// - Parameters:
    ///   - resource: the known resource from an earlier run. The upload continues there only if the source and the
    ///     length are the same. A resource that receives secrets must also have the target's origin.
    ///   - uploadProtocol: ``UploadProtocol/draft(_:)`` begins with an ordinary request that can become resumable. Its
    ///     version is the last one that the origin was known to support.
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

    /// Returns the number of bytes of the body that have arrived, given the number of bytes that this exchange has
    /// handed to the connection. The server's own report takes precedence.
    package func progress(handedOver: Int64) -> Int64 {
        guard let body = sent?.body else { return resource?.offset ?? 0 }
        if tellsProgress, let resource { return resource.offset }
        return min(body.lowerBound + max(0, handedOver), body.upperBound)
    }

    /// Returns the protocol for the target. If the app itself uses an upload protocol, or sends a part with PUT, the
    /// service adds no protocol. An empty body does not need one.
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
    /// Returns whether an upload to `target` may continue with this resource.
    ///
    /// A resource that gets secrets is at the origin of its own target. If the target is at another origin, the
    /// resource belongs to another server, which must not receive this upload.
    fileprivate func isUsable(for target: UploadTarget) -> Bool {
        source == target.source && length == target.length
            && (!sharesSecrets || TransferURL.areOfOneOrigin(url, target.url))
    }
}

/// The verdict on a response or an interruption.
package enum UploadVerdict: Hashable, Sendable {
    /// The last response is the final response to the upload, whatever its status.
    case finished
    /// The server acknowledged bytes. The caller sends ``ResumableUpload/next()`` at once.
    case proceed
    /// The caller sends ``ResumableUpload/next()`` at once. The server has not lost any bytes.
    case askAgain(reason: String)
    /// The bytes on the server are lost. The caller sends ``ResumableUpload/next()`` at once, with the body from its
    /// beginning.
    case startAgain(reason: String)
    /// A temporary failure. The caller sends ``ResumableUpload/next()`` later.
    case retryLater(TransferFailure, after: RetryAfter?)
    /// The response may not come from the server. The caller sends ``ResumableUpload/next()`` later. The server has not
    /// lost any bytes. See ``SuspectResponses``.
    case doubt(TransferFailure)
    case fail(TransferFailure)
}

/// The verdict on an interim response.
package enum InterimVerdict: Hashable, Sendable {
    case ignored
    /// More bytes have arrived; see ``ResumableUpload/progress(handedOver:)``.
    case acknowledged
    /// The upload has become resumable. The caller commits ``ResumableUpload/resource``.
    case resumable
    /// The caller cancels the exchange, and then calls ``ResumableUpload/broke()`` for the next step. The resource may
    /// be new.
    case stop
}
