import NightshiftAPI
import Scheduler
import Store

/// The comparison of bytes from another URL with the bytes that the current URL sends.
extension DownloadReceiver {
    /// Compares the first bytes of the response with bytes on disk. Nothing is written after the bytes on disk before
    /// the compared bytes agree and the new response is committed.
    func compare(
        _ representation: Representation, offset: Int64, length: Int64?, _ head: ResponseHead,
        _ reception: inout Reception
    ) -> BodyDisposition {
        guard let descriptor = inputs.descriptor, var file = inputs.partialFile, let count = inputs.partial?.count
        else { return .stop }
        if let total = representation.total,
            let failure = PartialStorage.reserve(descriptor, from: count, to: total)
        {
            reception.failure = failure
            return .stop
        }
        file.describe(
            representation, condition: representation.acceptsRanges ? .entityTag : .unusable, head, of: inputs.mirror)
        file.bootID = inputs.bootID
        file.digests = DigestFields.merged(
            file.digests, DigestFields.expected(head: head, wholeBody: !inputs.plan.asksForRange))
        let accepted = AcceptedResponse(
            response: ResponseSummary(head), url: head.url, partial: file,
            isLarge: (representation.total ?? 0) - count >= Admission.largeSize, offset: count, restart: nil)
        let overlap = OverlapComparison(
            descriptor: descriptor, range: offset..<count, isAll: offset == 0
        ) { [weak self] in
            self?.accept(accepted)
        }
        reception.descriptor = descriptor
        reception.overlap = overlap
        position.value = count
        ceiling.value = count
        return .file(
            FileSink(
                descriptor: descriptor, offset: count, length: length.map { offset + $0 - count }, position: position,
                ceiling: ceiling, end: end, overlap: overlap))
    }
}
