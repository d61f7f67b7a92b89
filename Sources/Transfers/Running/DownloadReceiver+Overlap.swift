import NightshiftAPI
import Scheduler
import Store

/// Bytes that came from another URL, compared with what the new one has at their place.
extension DownloadReceiver {
    /// Nothing behind the bytes here is taken before they agree and the response that continues them is written down.
    func compare(
        _ representation: Representation, offset: Int64, length: Int64, _ head: ResponseHead,
        _ reception: inout Reception
    ) -> BodyDisposition {
        guard let descriptor = inputs.descriptor, var file = inputs.partialFile, let count = inputs.partial?.count,
            let total = representation.total
        else { return .stop }
        if let failure = PartialStorage.reserve(descriptor, from: count, to: total) {
            reception.failure = failure
            return .stop
        }
        file.describe(representation, condition: .entityTag, of: inputs.mirror)
        file.bootID = inputs.bootID
        let accepted = AcceptedResponse(
            response: ResponseSummary(head), url: head.url, partial: file,
            isLarge: total - count >= Admission.largeSize, offset: count, restart: nil)
        let overlap = OverlapComparison(descriptor: descriptor, range: offset..<count) { [weak self] in
            self?.accept(accepted)
        }
        reception.descriptor = descriptor
        reception.overlap = overlap
        position.value = count
        ceiling.value = count
        return .file(
            FileSink(
                descriptor: descriptor, offset: count, length: offset + length - count, position: position,
                ceiling: ceiling, end: end, overlap: overlap))
    }
}
