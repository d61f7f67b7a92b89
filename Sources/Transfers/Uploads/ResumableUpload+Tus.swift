import NightshiftAPI
import Store

/// Answers in the words of tus 1.0.0, where these differ from the draft's.
extension ResumableUpload {
    mutating func tusCreated(
        _ request: UploadRequest, _ head: ResponseHead, _ fields: UploadFields, _ now: Double
    ) -> UploadVerdict {
        guard (200..<300).contains(head.status) else { return .finished }
        // An upload of nothing is complete when it is there.
        if target.length == 0 { return .finished }
        guard request.method == head.method, name(fields.location, in: head, now: now), var created = resource else {
            return .fail(
                TransferFailure(
                    .protocolError,
                    "The server answered \(HTTPStatus.name(head.status)) and did not say where the upload goes on: "
                        + "it does not speak tus at this address.", status: head.status))
        }
        created.update(from: fields, now: now)
        resource = created
        knowsOffset = true
        return retry("The server takes the upload.")
    }

    mutating func tusAppended(
        _ request: UploadRequest, _ head: ResponseHead, _ fields: UploadFields, _ now: Double
    ) -> UploadVerdict {
        switch head.status {
        case 200..<300:
            guard let body = request.body, var known = resource, let offset = fields.offset,
                offset <= body.upperBound
            else { return retry("The server does not say how much it has.") }
            guard offset >= known.offset else { return mismatched(fields) }
            known.update(from: fields, now: now)
            resource = known
            acknowledge(offset)
            if offset == target.length { return .finished }
            knowsOffset = true
            return offset > body.lowerBound ? .proceed : retry("The server took nothing of what was sent.")
        case 409: return mismatched(fields)
        case 460: return retry("What arrived was not what had been sent.")
        default: return refused(request, head, fields)
        }
    }
}
