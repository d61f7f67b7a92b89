import NightshiftAPI
import Store

/// Handling of the responses to an upload's requests.
extension ResumableUpload {
    /// Handles an interim response to the current request.
    ///
    /// A response of another protocol version, or of none, is ignored. A response that names a resource is ignored as
    /// well if no resource is being created.
    /// - Parameter now: seconds since 1970.
    package mutating func interim(_ head: ResponseHead, now: Double) -> InterimVerdict {
        let fields = UploadFields(head.headers)
        guard head.status == 104, stop == nil, let sent, let body = sent.body, case .draft(let version) = speaking,
            fields.version == version.rawValue
        else { return .ignored }
        hasSpoken = true
        let isNew = sent.purpose == .create && name(fields.location, in: head, now: now)
        guard var known = resource else { return .ignored }
        known.update(from: fields, now: now)
        resource = known
        var verdict = isNew ? InterimVerdict.resumable : .ignored
        if let offset = fields.offset, offset >= known.offset, offset <= body.upperBound {
            acknowledge(offset)
            if offset > body.lowerBound { tellsProgress = true }
            if !isNew { verdict = .acknowledged }
        }
        if let limit = known.limits?.maxSize, limit < target.length {
            stop = .tooLarge(limit: limit)
        } else if let part = known.partSize, part < sent.count {
            stop = .partsOnly
        }
        return stop == nil ? verdict : .stop
    }

    /// Handles an exchange that ended for any reason without a final response.
    ///
    /// - Returns: the next step; nil if the failure is an ordinary one. The caller then waits, and sends ``next()``.
    package mutating func broke() -> UploadVerdict? {
        sent = nil
        moved = nil
        switch stop {
        case nil:
            futileRequests = 0
            return nil
        case .partsOnly:
            return retry("The server accepts at most \(resource?.partSize ?? 0) bytes in one request.")
        case .tooLarge(let limit):
            return .fail(
                TransferFailure(
                    .tooLarge,
                    "The server accepts at most \(limit) bytes, but the upload has \(target.length). The server "
                        + "stored nothing."
                )
            )
        }
    }

    /// Handles the final response to the current request. The response is complete, and the exchange has followed its
    /// redirects.
    ///
    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - isBehindPortal: whether the network requires a log-in (captive portal).
    package mutating func answered(
        _ head: ResponseHead, now: Double, isBehindPortal: Bool = false
    ) -> UploadVerdict {
        guard let request = sent else {
            assertionFailure("A response without a request")
            return .fail(TransferFailure(.protocolError, "A response arrived although no request was sent."))
        }
        let fields = UploadFields(head.headers)
        sent = nil
        if let failure = doubt(request, head, fields, isBehindPortal) { return .doubt(failure) }
        // After a redirect that changes the method (303), the response is the final response of the target.
        if request.method != head.method, request.completes, request.purpose != .query { return targetAnswered(head) }
        if let verdict = negotiate(request, head, fields) { return verdict }
        switch request.purpose {
        case .create:
            return uploadProtocol == .tus ? tusCreated(request, head, fields, now) : created(request, head, fields, now)
        case .query: return found(head, fields, now)
        case .append:
            return resource?.uploadProtocol == .tus
                ? tusAppended(request, head, fields, now) : appended(request, head, fields, now)
        case .cancel: return .finished
        }
    }

    /// The protocol of the current request.
    private var speaking: UploadProtocol { resource?.uploadProtocol ?? uploadProtocol }

    /// Decides whether the response is suspect, and remembers a suspect response. Returns nil if it is trusted.
    private mutating func doubt(
        _ request: UploadRequest, _ head: ResponseHead, _ fields: UploadFields, _ isBehindPortal: Bool
    ) -> TransferFailure? {
        guard let resource, request.purpose != .create, !hasSpoken, !fields.areSpoken,
            let (doubt, failure) = SuspectResponses.doubt(
                head, to: request.purpose, resource, isBehindPortal: isBehindPortal)
        else { return nil }
        self.resource?.doubt = doubt
        moved = nil
        return failure
    }

    // MARK: - Versions

    /// Returns the verdict on a response of another protocol version. Returns nil if the response has the current
    /// version, or none.
    private mutating func negotiate(
        _ request: UploadRequest, _ head: ResponseHead, _ fields: UploadFields
    ) -> UploadVerdict? {
        guard case .draft(let version) = speaking else { return nil }
        let offered: InteropVersion?
        if head.status == 400, let number = fields.version, number != version.rawValue {
            offered = InteropVersion(rawValue: number)
        } else if head.status == 412, request.purpose == .create, head.headers.first("Tus-Resumable") != nil {
            // tusd treats unknown versions as tus without the `Tus-Resumable` field, and its response says so.
            offered = version > .v6 ? .v6 : nil
        } else {
            return nil
        }
        moved = nil
        if let offered, triedVersions.insert(offered).inserted {
            uploadProtocol = .draft(offered)
            resource?.uploadProtocol = uploadProtocol
            return retry("The server supports version \(offered.rawValue) of resumable uploads.")
        }
        guard request.purpose == .create, resource == nil else {
            return startAgain("The server no longer supports version \(version.rawValue) of resumable uploads.")
        }
        uploadProtocol = .plain
        return retry("The server does not support version \(version.rawValue) of resumable uploads.")
    }

    // MARK: - The resource

    /// Stores the upload resource that a creation names. Returns true if the resource is new.
    ///
    /// If the same URL names two different resources, neither is used, because the service cannot know which one has
    /// the bytes.
    mutating func name(_ location: String?, in head: ResponseHead, now: Double) -> Bool {
        guard let location, !isAmbiguous, let place = place(location, from: head.url) else { return false }
        if let resource {
            guard resource.url != place.url else { return false }
            if namedBy == head.url {
                isAmbiguous = true
                self.resource = nil
                return false
            }
        }
        namedBy = head.url
        resource = UploadResource(
            url: place.url, uploadProtocol: uploadProtocol, length: target.length, source: target.source,
            sharesSecrets: place.sharesSecrets)
        resource?.partSize = partSize
        return true
    }

    /// Returns the target of a `Location`; nil if the target is not allowed.
    private func place(_ location: String, from url: String) -> Place? {
        guard let own = try? TransferURL(parsing: target.url), let base = try? TransferURL(parsing: url),
            let named = try? TransferURL(parsing: location, relativeTo: base)
        else { return nil }
        // An upload over https never continues over http.
        if own.isSecure || base.isSecure, !named.isSecure { return nil }
        return Place(url: named.string, sharesSecrets: named.origin == own.origin && base.origin == own.origin)
    }

    /// Returns whether requests that were redirected to `url` may be repeated there with all fields.
    func sharesSecrets(at url: String) -> Bool {
        guard let resource, resource.sharesSecrets, let own = try? TransferURL(parsing: target.url),
            let there = try? TransferURL(parsing: url)
        else { return false }
        return own.origin == there.origin
    }

    mutating func acknowledge(_ offset: Int64) {
        assert(offset >= resource?.offset ?? 0, "The server reported a lower offset than before.")
        resource?.offset = offset
        guard offset > highestOffset else { return }
        highestOffset = offset
        resource?.doubt = nil
        futileRequests = 0
        serverErrors = 0
    }

    // MARK: - Verdicts

    /// Sends another request at once, up to a limited number of requests without progress.
    mutating func retry(_ reason: String) -> UploadVerdict {
        repeated(.askAgain(reason: reason), reason)
    }

    /// Starts again, because the server has no bytes that the upload could continue from.
    mutating func startAgain(_ reason: String) -> UploadVerdict {
        resource = nil
        moved = nil
        return repeated(.startAgain(reason: reason), reason)
    }

    private mutating func repeated(_ verdict: UploadVerdict, _ reason: String) -> UploadVerdict {
        futileRequests += 1
        guard futileRequests > Self.futileLimit else { return verdict }
        futileRequests = 0
        knowsOffset = false
        return .retryLater(
            TransferFailure(.protocolError, "The server's responses contradict each other: \(reason)"), after: nil)
    }

    /// Handles the result of a complete upload. If the upload has to be repeated nevertheless, it starts from the
    /// beginning.
    mutating func targetAnswered(_ head: ResponseHead) -> UploadVerdict {
        if (200..<300).contains(head.status) { acknowledge(target.length) } else { resource = nil }
        return .finished
    }

    mutating func retryLater(_ head: ResponseHead) -> UploadVerdict {
        futileRequests = 0
        let failure = TransferFailure(
            .serverUnavailable, "The server answered \(HTTPStatus.name(head.status)).", status: head.status)
        return .retryLater(failure, after: head.headers.first("Retry-After").flatMap(RetryAfter.init(field:)))
    }

    /// Handles a 5xx response that may come from the upload resource or from the target. Returns nil if there were too
    /// many 5xx responses to wait for another response.
    mutating func serverError(_ head: ResponseHead) -> UploadVerdict? {
        serverErrors += 1
        guard serverErrors > Self.serverErrorLimit else { return retryLater(head) }
        serverErrors = 0
        return nil
    }

    /// Chooses the next smaller part size after a refusal of `count` bytes; returns false if no smaller size exists.
    mutating func shrinkParts(below count: Int64, limits: UploadLimits?) -> Bool {
        let announced = limits?.maxAppendSize ?? resource?.limits?.maxAppendSize
        let size: Int64? =
            if let announced, announced < count { announced } else {
                resource == nil ? nil : Self.partSizes.first { $0 < count }
            }
        guard let size else { return false }
        partSize = size
        resource?.partSize = size
        return true
    }

    /// The maximum number of immediate requests without progress. One more request counts as a failure.
    private static let futileLimit = 6
    /// The maximum number of 5xx responses. With the pauses in between, they take some minutes. A server that restarts
    /// is back within this time, and a server that always fails has given its answer.
    private static let serverErrorLimit = 8
    /// The part sizes, below the limits of common gateways: 100 MB (Cloudflare), 10 MB (many frameworks), 1 MiB
    /// (nginx).
    private static let partSizes: [Int64] = [64 << 20, 8 << 20, 1 << 20]
}

extension UploadResource {
    /// Records the limits and the lifetime that a response announces.
    mutating func update(from fields: UploadFields, now: Double) {
        if let limits = fields.limits {
            self.limits = limits
            if let size = limits.maxAppendSize, size < partSize ?? .max { partSize = size }
            if let age = limits.maxAge { expiresAt = now + Double(age) }
        }
        if let expires = fields.expires { expiresAt = expires }
    }
}
