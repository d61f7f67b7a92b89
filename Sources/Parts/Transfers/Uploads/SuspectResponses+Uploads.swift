import NightshiftAPI
import Store

/// Suspect responses to uploads. The server is known to store a part of these uploads.
extension SuspectResponses {
    /// Decides whether to trust a response without any fields of the upload protocol.
    ///
    /// Only the upload resource is queried, and a server that knows the resource answers with the fields of the
    /// protocol. Only a deleted resource (404, 410) is often reported without these fields. The response to an append
    /// may come from the target itself, which does not send these fields. In this case, the response is suspect if it
    /// is a web page. While a captive portal is active, every response that would discard bytes is suspect.
    ///
    /// - Returns: nil if the response is trusted or discards nothing; otherwise the state to remember for the next
    ///   response, and a reason for display.
    static func doubt(
        _ head: ResponseHead, to purpose: UploadRequest.Purpose, _ resource: UploadResource, isBehindPortal: Bool
    ) -> (doubt: SuspectResponse, failure: TransferFailure)? {
        guard isStrange(head, to: purpose, isBehindPortal: isBehindPortal) else { return nil }
        guard let doubt = counted(head, after: resource.doubt, isBehindPortal: isBehindPortal) else { return nil }
        return (doubt, failure(head, resource, times: doubt.times))
    }

    private static func isStrange(
        _ head: ResponseHead, to purpose: UploadRequest.Purpose, isBehindPortal: Bool
    ) -> Bool {
        switch (purpose, head.status) {
        case (.create, _), (.cancel, _): false
        // Responses with these statuses do not discard bytes.
        case (_, 423), (.append, 409): false
        case (_, let status) where HTTPStatus.isTransient(status): false
        case (_, 404), (_, 410), (.append, 413): isBehindPortal
        case (.query, _): true
        case (.append, _): isBehindPortal || isPage(head.mediaType)
        }
    }

    private static func failure(_ head: ResponseHead, _ resource: UploadResource, times: Int) -> TransferFailure {
        TransferFailure(
            .resourceChanged,
            "After \(resource.offset) of \(resource.length) bytes were acknowledged, the server answered "
                + "\(HTTPStatus.name(head.status))\(head.mediaType.map { " (\($0))" } ?? "") without any upload "
                + "fields. "
                + "This may be a network's log-in page. The partial upload is kept, and the request is repeated. "
                + "After \(enough) such responses, the service accepts the response; this was response \(times).",
            status: head.status)
    }
}
