import NightshiftAPI
import Store

/// Handling of responses in the protocol of the IETF draft, and of responses to requests that are not resumable.
extension ResumableUpload {
    /// Handles the response to the original request, or to its first part.
    mutating func created(
        _ request: UploadRequest, _ head: ResponseHead, _ fields: UploadFields, _ now: Double
    ) -> UploadVerdict {
        guard case .draft = uploadProtocol else { return .finished }
        if request.completes, fields.isComplete == true { return targetAnswered(head) }
        switch head.status {
        case 200..<300:
            guard saysMore(request, fields) else { return targetAnswered(head) }
            _ = name(fields.location, in: head, now: now)
            return continued(request, fields, now)
        case 413 where shrinkParts(below: request.count, limits: fields.version == nil ? nil : fields.limits):
            return retry("The server accepts only smaller requests.")
        case 408, 423, 425, 429:
            return resource == nil ? .finished : retryLater(head)
        case 500..<600:
            guard resource != nil else { return .finished }
            return serverError(head) ?? .finished
        default:
            // The service must not repeat a request that the server has refused.
            resource = nil
            return .finished
        }
    }

    /// Returns whether a 2xx response expects more bytes. If the response does not say so, the offset of a known upload
    /// resource decides.
    private func saysMore(_ request: UploadRequest, _ fields: UploadFields) -> Bool {
        guard request.completes, fields.isComplete == nil else { return true }
        return resource != nil && fields.offset.map { $0 < target.length } == true
    }

    /// Continues after a response which says that the upload is incomplete.
    private mutating func continued(_ request: UploadRequest, _ fields: UploadFields, _ now: Double) -> UploadVerdict {
        guard let body = request.body, var known = resource else {
            partSize = nil
            // Each request sends the whole upload, so it is not repeated at once.
            let failure = TransferFailure(
                .protocolError, "The server says that the upload is incomplete, but not at which byte it continues.")
            return .retryLater(failure, after: nil)
        }
        if !request.completes, fields.isComplete == true {
            return startAgain("The server treats a part of the upload as the whole upload.")
        }
        known.update(from: fields, now: now)
        resource = known
        let offset = fields.offset ?? (request.completes ? nil : body.upperBound)
        guard let offset, offset <= body.upperBound else {
            return retry("The server did not report how many bytes it has.")
        }
        guard offset >= known.offset else { return startAgain(Self.forgot(known.offset, offset)) }
        acknowledge(offset)
        knowsOffset = true
        return offset > body.lowerBound ? .proceed : retry("The server stored none of the bytes that were sent.")
    }

    /// Handles the response to an offset query, in the draft and in tus.
    mutating func found(_ head: ResponseHead, _ fields: UploadFields, _ now: Double) -> UploadVerdict {
        guard var known = resource else { return startAgain("The server no longer knows the upload.") }
        switch head.status {
        case 200..<300:
            guard let offset = fields.offset, offset <= known.length else {
                return startAgain("The server did not report how many bytes it has.")
            }
            if let length = fields.length, length != known.length {
                return startAgain("The server has an upload of another length at this URL.")
            }
            guard offset >= known.offset else { return startAgain(Self.forgot(known.offset, offset)) }
            let isComplete = known.uploadProtocol == .tus ? offset == known.length : fields.isComplete == true
            if isComplete, offset < known.length {
                return startAgain("The server treats \(offset) of \(known.length) bytes as the whole upload.")
            }
            known.update(from: fields, now: now)
            resource = known
            acknowledge(offset)
            if isComplete { return .finished }
            knowsOffset = true
            moved = head.url == known.url ? nil : Place(url: head.url, sharesSecrets: sharesSecrets(at: head.url))
            return retry("The server has \(offset) of \(known.length) bytes.")
        case 408, 423, 425, 429: return retryLater(head)
        case 501, 505: return startAgain(Self.gone(head))
        case 500..<600: return serverError(head) ?? startAgain(Self.gone(head))
        default: return startAgain(Self.gone(head))
        }
    }

    mutating func appended(
        _ request: UploadRequest, _ head: ResponseHead, _ fields: UploadFields, _ now: Double
    ) -> UploadVerdict {
        if request.completes, fields.isComplete == true { return targetAnswered(head) }
        switch head.status {
        case 200..<300 where !request.completes && !fields.areSpoken && !hasSpoken:
            return retry("The server did not report how many bytes it has.")
        case 200..<300:
            return saysMore(request, fields) ? continued(request, fields, now) : targetAnswered(head)
        case 409: return mismatched(fields)
        default: return refused(request, head, fields)
        }
    }

    /// Handles a response whose offset differs from that of the request.
    mutating func mismatched(_ fields: UploadFields) -> UploadVerdict {
        guard let known = resource, let offset = fields.offset, offset <= known.length else {
            return retry("The server reports another offset.")
        }
        guard offset >= known.offset else { return startAgain(Self.forgot(known.offset, offset)) }
        acknowledge(offset)
        knowsOffset = true
        return retry("The server is at byte \(offset).")
    }

    /// Judges the response to an append that stored nothing, in the draft and in tus.
    mutating func refused(_ request: UploadRequest, _ head: ResponseHead, _ fields: UploadFields) -> UploadVerdict {
        moved = nil
        switch head.status {
        case 404, 410: return startAgain(Self.gone(head))
        case 413 where shrinkParts(below: request.count, limits: fields.limits):
            return retry("The server accepts only smaller requests.")
        case 408, 423, 425, 429: return retryLater(head)
        case 501, 505: return .finished
        case 500..<600: return serverError(head) ?? .finished
        default: return .finished
        }
    }

    private static func gone(_ head: ResponseHead) -> String {
        "The server no longer has the upload (\(HTTPStatus.name(head.status)))."
    }

    private static func forgot(_ offset: Int64, _ less: Int64) -> String {
        "The server had acknowledged \(offset) bytes, but now has only \(less)."
    }
}
