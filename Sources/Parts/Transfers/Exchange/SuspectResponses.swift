import NightshiftAPI
import Store

/// The rules for suspect responses. A response is suspect if trusting it would discard bytes or the right file, and if
/// it does not look like a new version of the file. Examples are a captive portal's log-in page, a gateway's welcome
/// page and a server with the wrong name.
///
/// A suspect response is not trusted at once. The service repeats the request after growing pauses. It accepts the
/// response as a new version only after a certain number of responses of the same kind. A file that really was replaced
/// by one of another kind therefore arrives a little later.
package enum SuspectResponses {
    /// The number of consecutive responses of one kind after which the last one is trusted.
    package static let enough = 5
    /// The numbers of seconds until the request is repeated after the first, the second and each further suspect
    /// response. Together they are three quarters of an hour: enough time to log in at a portal, or to change networks.
    private static let pauses: [Double] = [30, 120, 480, 1_920]

    /// Returns the seconds to wait after this many suspect responses of one kind.
    package static func pause(times: Int) -> Double { pauses[min(max(times, 1), pauses.count) - 1] }

    /// Decides whether to trust a response that would discard the known file.
    ///
    /// - Returns: nil if the response is trusted; otherwise the state to remember for the next response, and a reason
    ///   for display.
    static func doubt(
        _ head: ResponseHead, _ partial: PartialBytes, isBehindPortal: Bool
    ) -> (doubt: SuspectResponse, failure: TransferFailure)? {
        // Captive portals and gateways do not send 206.
        guard (200...299).contains(head.status), head.status != 206, isStrange(head, partial) else { return nil }
        guard let doubt = counted(head, after: partial.doubt, isBehindPortal: isBehindPortal) else { return nil }
        return (doubt, failure(head, partial, times: doubt.times))
    }

    /// Returns the state to remember after a suspect response; nil if enough responses of its kind have arrived.
    static func counted(_ head: ResponseHead, after last: SuspectResponse?, isBehindPortal: Bool) -> SuspectResponse? {
        let fingerprint = fingerprint(head)
        let known = last?.fingerprint == fingerprint ? last?.times ?? 0 : 0
        // A response proves nothing while a captive portal is active.
        let times = isBehindPortal ? max(known, 1) : known + 1
        return times < enough ? SuspectResponse(fingerprint: fingerprint, times: times) : nil
    }

    private static func isStrange(_ head: ResponseHead, _ partial: PartialBytes) -> Bool {
        let given = Validators(head: head)
        let (before, now) = (partial.mediaType, head.mediaType)
        let hasSameLength = partial.total != nil && head.contentLength == partial.total
        if isPage(now), before.map({ !isPage($0) }) ?? !hasSameLength { return true }
        // Another server may use another media type for the same file.
        guard !partial.isOfAnotherURL else { return false }
        if let before, let now, before != now { return true }
        let hasValidators = given.entityTag != nil || given.lastModified != nil
        let hadValidators = partial.validators.entityTag != nil || partial.validators.lastModified != nil
        // A server that once sent validators, or a media type, sends them again. One of several servers may omit
        // validators: its response is accepted if both the media type and the announced length are the same.
        guard !hasValidators, hadValidators || (before != nil && now == nil) else { return false }
        return before != now || !hasSameLength
    }

    static func isPage(_ type: String?) -> Bool { type == "text/html" || type == "application/xhtml+xml" }

    private static func fingerprint(_ head: ResponseHead) -> String {
        // The query of a log-in page differs each time.
        let place = (try? TransferURL(parsing: head.url).originAndPath) ?? ""
        return "\(head.status) \(head.mediaType ?? "-") \(place)"
    }

    private static func failure(_ head: ResponseHead, _ partial: PartialBytes, times: Int) -> TransferFailure {
        let was = words(partial.total, partial.mediaType)
        let came = words(head.contentLength, head.mediaType)
        let validators = Validators(head: head)
        let isBare = validators.entityTag == nil && validators.lastModified == nil
        return TransferFailure(
            .resourceChanged,
            "The download began as \(was), but now the server sent \(came)\(isBare ? " without a validator" : ""). "
                + "This may be a network's log-in page. The bytes on disk are kept, and the request is repeated. "
                + "After \(enough) such responses, the file counts as a new version; this was response \(times).",
            status: head.status)
    }

    private static func words(_ length: Int64?, _ type: String?) -> String {
        "\(length.map { "\($0) bytes" } ?? "a file")\(type.map { " of \($0)" } ?? " of an unknown type")"
    }
}

extension ResponseHead {
    /// The media type in `Content-Type`, in lower case and without parameters.
    var mediaType: String? {
        guard let field = headers.first("Content-Type") else { return nil }
        let type = field.prefix { $0 != ";" && $0 != "," }
        let text = String(type).trimmedOfBlanks.lowercased()
        return text.isEmpty || text.utf8.count > 255 ? nil : text
    }
}
