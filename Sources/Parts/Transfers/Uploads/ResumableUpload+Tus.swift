import NightshiftAPI
import Store

/// Handling of responses in the protocol of tus 1.0.0, where it differs from the draft.
extension ResumableUpload {
    mutating func tusCreated(
        _ request: UploadRequest, _ head: ResponseHead, _ fields: UploadFields, _ now: Double
    ) -> UploadVerdict {
        guard (200..<300).contains(head.status) else { return .finished }
        // An empty upload is complete as soon as its resource exists.
        if target.length == 0 { return .finished }
        guard request.method == head.method, name(fields.location, in: head, now: now), var created = resource else {
            return .fail(
                TransferFailure(
                    .protocolError,
                    "The server answered \(HTTPStatus.name(head.status)) without the location of the upload, "
                        + "so it does not support tus at this URL.", status: head.status))
        }
        created.update(from: fields, now: now)
        resource = created
        knowsOffset = true
        return retry("The server accepts the upload.")
    }

    mutating func tusAppended(
        _ request: UploadRequest, _ head: ResponseHead, _ fields: UploadFields, _ now: Double
    ) -> UploadVerdict {
        switch head.status {
        case 200..<300:
            guard let body = request.body, var known = resource, let offset = fields.offset,
                offset <= body.upperBound
            else { return retry("The server did not report how many bytes it has.") }
            guard offset >= known.offset else { return mismatched(fields) }
            known.update(from: fields, now: now)
            resource = known
            acknowledge(offset)
            if offset == target.length { return .finished }
            knowsOffset = true
            return offset > body.lowerBound ? .proceed : retry("The server stored none of the bytes that were sent.")
        case 409: return mismatched(fields)
        case 460: return retry("The server received other bytes than were sent.")
        default: return refused(request, head, fields)
        }
    }
}
