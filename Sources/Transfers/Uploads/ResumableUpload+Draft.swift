import NightshiftAPI
import Store

/// Answers in the words of the IETF draft, and to requests that are not resumable.
extension ResumableUpload {
    /// The answer to the request that was asked for, or to its first part.
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
            return retry("The server takes less in one request.")
        case 408, 423, 425, 429:
            return resource == nil ? .finished : retryLater(head)
        case 500..<600:
            guard resource != nil else { return .finished }
            return serverError(head) ?? .finished
        default:
            // The server may not be asked again for what it has refused.
            resource = nil
            return .finished
        }
    }

    /// Whether a 2xx wants more. Where nothing is said of completeness, the offset of an upload that the server is known to
    /// keep does.
    private func saysMore(_ request: UploadRequest, _ fields: UploadFields) -> Bool {
        guard request.completes, fields.isComplete == nil else { return true }
        return resource != nil && fields.offset.map { $0 < target.length } == true
    }

    /// Goes on after an answer that says that the upload is not complete.
    private mutating func continued(_ request: UploadRequest, _ fields: UploadFields, _ now: Double) -> UploadVerdict {
        guard let body = request.body, var known = resource else {
            partSize = nil
            // Sent whole each time: not at once.
            let failure = TransferFailure(
                .protocolError, "The server says that the upload is not complete, and not where it goes on.")
            return .retryLater(failure, after: nil)
        }
        if !request.completes, fields.isComplete == true {
            return startAgain("The server takes a part of the upload for the whole.")
        }
        known.update(from: fields, now: now)
        resource = known
        let offset = fields.offset ?? (request.completes ? nil : body.upperBound)
        guard let offset, offset <= body.upperBound else {
            return retry("The server does not say how much it has.")
        }
        guard offset >= known.offset else { return startAgain(Self.forgot(known.offset, offset)) }
        acknowledge(offset)
        knowsOffset = true
        return offset > body.lowerBound ? .proceed : retry("The server took nothing of what was sent.")
    }

    /// The answer to an offset query, in the draft and in tus.
    mutating func found(_ head: ResponseHead, _ fields: UploadFields, _ now: Double) -> UploadVerdict {
        guard var known = resource else { return startAgain("The upload is not known any more.") }
        switch head.status {
        case 200..<300:
            guard let offset = fields.offset, offset <= known.length else {
                return startAgain("The server does not say how much it has.")
            }
            if let length = fields.length, length != known.length {
                return startAgain("The server has an upload of another length at that address.")
            }
            guard offset >= known.offset else { return startAgain(Self.forgot(known.offset, offset)) }
            let isComplete = known.uploadProtocol == .tus ? offset == known.length : fields.isComplete == true
            if isComplete, offset < known.length {
                return startAgain("The server takes \(offset) of \(known.length) bytes for the whole.")
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
            return retry("The server does not say how much it has.")
        case 200..<300:
            return saysMore(request, fields) ? continued(request, fields, now) : targetAnswered(head)
        case 409: return mismatched(fields)
        default: return refused(request, head, fields)
        }
    }

    /// The server names another offset than the request did.
    mutating func mismatched(_ fields: UploadFields) -> UploadVerdict {
        guard let known = resource, let offset = fields.offset, offset <= known.length else {
            return retry("The server has another offset.")
        }
        guard offset >= known.offset else { return startAgain(Self.forgot(known.offset, offset)) }
        acknowledge(offset)
        knowsOffset = true
        return retry("The server is at byte \(offset).")
    }

    /// Judges the answer to an append that took nothing, in the draft and in tus.
    mutating func refused(_ request: UploadRequest, _ head: ResponseHead, _ fields: UploadFields) -> UploadVerdict {
        moved = nil
        switch head.status {
        case 404, 410: return startAgain(Self.gone(head))
        case 413 where shrinkParts(below: request.count, limits: fields.limits):
            return retry("The server takes less in one request.")
        case 408, 423, 425, 429: return retryLater(head)
        case 501, 505: return .finished
        case 500..<600: return serverError(head) ?? .finished
        default: return .finished
        }
    }

    private static func gone(_ head: ResponseHead) -> String {
        "The server does not have the upload any more (\(HTTPStatus.name(head.status)))."
    }

    private static func forgot(_ offset: Int64, _ less: Int64) -> String {
        "The server had acknowledged \(offset) bytes and has only \(less) now."
    }
}
