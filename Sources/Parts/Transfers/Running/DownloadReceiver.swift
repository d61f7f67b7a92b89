import Foundation
import Glibc
import NightshiftAPI
import Scheduler
import Store
import Synchronization

/// The receiver of one download exchange, called on the transport's thread. The receiver judges the head of the
/// response and decides where the bytes are written.
///
/// All inputs of its decisions are fixed when the exchange begins. The receiver reports its decisions to the service
/// through `report`.
final class DownloadReceiver: ExchangeReceiver {
    /// The fixed inputs of the decisions.
    struct Inputs: Sendable {
        var plan: ExchangePlan
        var partial: PartialBytes?
        var policy: ResponsePolicy
        /// The open file with the bytes on disk; nil without any.
        var descriptor: Int32?
        var partialFile: PartialFile?
        var freshPath: String
        /// The mirror that is requested; nil for the task's own URL.
        var mirror: String?
        var bootID: String
        var wallSeconds: Double
    }

    /// The receiver's decision about the head of a response.
    struct Reception: Sendable {
        var verdict: Verdict
        var head: ResponseHead
        var accepted: AcceptedResponse?
        /// The file that the bytes are written to, including its existing beginning.
        var descriptor: Int32?
        /// A failure of the file that happened before the first byte was written.
        var failure: TransferFailure?
        /// The comparison for ``Verdict/compare(_:offset:length:)``. The response is accepted when all compared bytes
        /// agree.
        var overlap: OverlapComparison?
    }

    /// The maximum number of bytes of a new version that may be written before its validators are on disk: half of the
    /// loss that a crash may cause.
    static let unconfirmedBytes: Int64 = 4 << 20
    /// The length in bytes of the longest response that is recorded only at its end. Fetching such a response again
    /// costs less than a commit.
    static let unrecordedLength: Int64 = 1 << 20
    /// The largest error page that is read to its end, so that the connection can be reused.
    static let discardedLength: Int64 = 64 << 10

    let position: ByteMeter
    let ceiling = ByteMeter(.max)
    /// The offset at which this connection stops writing, once other connections fetch the rest.
    let end = ByteMeter(.max)
    let inputs: Inputs
    private let report: @Sendable (DownloadReceiver, ReceiverReport) -> Void
    private let state = Mutex<Reception?>(nil)

    init(_ inputs: Inputs, report: @escaping @Sendable (DownloadReceiver, ReceiverReport) -> Void) {
        self.inputs = inputs
        self.report = report
        position = ByteMeter(inputs.partial?.count ?? 0)
    }

    var reception: Reception? { state.withLock { $0 } }
    var plan: ExchangePlan { inputs.plan }
    /// The file with the bytes that were on disk when the exchange began.
    var openDescriptor: Int32? { inputs.descriptor }
    /// The length of the file, valid when writing has ended.
    var fileLength: Int64 {
        if case .fresh? = reception?.verdict { position.value } else { max(startCount, position.value) }
    }
    /// The number of this task's bytes that were on disk when the exchange began.
    var startCount: Int64 { inputs.partial?.count ?? 0 }

    func exchange(received head: ResponseHead) -> BodyDisposition {
        let verdict = Verdict.judge(
            head: head, plan: inputs.plan, partial: inputs.partial, policy: inputs.policy, now: inputs.wallSeconds)
        var reception = Reception(verdict: verdict, head: head)
        let disposition = dispose(verdict, head, &reception)
        state.withLock { $0 = reception }
        if reception.accepted != nil { report(self, .accepted) }
        return disposition
    }

    /// Accepts the response after the compared bytes agreed. The body continues after these bytes.
    func accept(_ response: AcceptedResponse) {
        state.withLock { $0?.accepted = response }
        report(self, .accepted)
    }

    func exchangeEnded(_ end: ExchangeEnd) {
        report(self, .ended(end))
    }

    private func dispose(_ verdict: Verdict, _ head: ResponseHead, _ reception: inout Reception) -> BodyDisposition {
        switch verdict {
        case .fresh(let representation, let restart):
            switch PartialStorage.create(inputs.freshPath, total: representation.total) {
            case .failure(let failure):
                reception.failure = failure
                return .stop
            case .success(let created):
                var file = PartialFile(path: created.path, bootID: inputs.bootID)
                file.inode = created.inode
                file.device = created.device
                file.owner = created.owner
                file.describe(
                    representation, condition: representation.acceptsRanges ? .entityTag : .unusable, head,
                    of: inputs.mirror)
                // A digest of the whole file does not apply to a response that is only a part of the file, nor to the
                // response to a HEAD.
                let isWhole = !inputs.policy.asksConditionally && head.method != "HEAD"
                file.digests = isWhole ? DigestFields.expected(head: head, wholeBody: true) : []
                position.value = 0
                return sink(
                    created.descriptor, offset: 0, length: representation.total, file: file, restart: restart, head,
                    &reception)
            }
        case .append(let representation, let offset, let length):
            guard let descriptor = inputs.descriptor, var file = inputs.partialFile else { return .stop }
            if let total = representation.total,
                let failure = PartialStorage.reserve(descriptor, from: inputs.partial?.count ?? 0, to: total)
            {
                reception.failure = failure
                return .stop
            }
            file.describe(representation, condition: inputs.plan.condition, head, of: inputs.mirror)
            file.bootID = inputs.bootID
            file.digests = DigestFields.merged(file.digests, DigestFields.expected(head: head, wholeBody: false))
            position.value = offset
            return sink(descriptor, offset: offset, length: length, file: file, restart: nil, head, &reception)
        case .compare(let representation, let offset, let length):
            return compare(representation, offset: offset, length: length, head, &reception)
        case .alreadyComplete, .askAgain, .startAgain, .retryLater, .fail, .doubt:
            // A body of unknown length may be endless.
            return (head.contentLength ?? .max) <= Self.discardedLength ? .discard : .stop
        }
    }

    private func sink(
        _ descriptor: Int32, offset: Int64, length: Int64?, file: PartialFile, restart: String?, _ head: ResponseHead,
        _ reception: inout Reception
    ) -> BodyDisposition {
        reception.descriptor = descriptor
        var file = file
        var summary = ResponseSummary(head)
        let name = inputs.policy.expectedName
        if offset == 0, inputs.policy.decodes {
            file.coding = ContentCoding(decoding: head.headers, url: head.url, name: name)
        }
        // The rest of a file may arrive without the header fields of its beginning (RFC 9110, section 15.3.7).
        if file.coding != nil || ContentCoding.isHidden(in: head.headers, url: head.url, name: name) {
            summary.remark = .coded
        }
        if offset == 0, inputs.policy.firstDoubt != nil, SuspectResponses.contradictsName(head, inputs.policy) {
            summary.remark = .page
        }
        reception.accepted = AcceptedResponse(
            response: summary, url: head.url, partial: file,
            isLarge: (file.total ?? 0) - offset >= Admission.largeSize, offset: offset, restart: restart)
        if file.total ?? .max > Self.unrecordedLength { ceiling.value = offset + Self.unconfirmedBytes }
        return .file(
            FileSink(
                descriptor: descriptor, offset: offset, length: length, position: position, ceiling: ceiling, end: end))
    }
}

/// The reports of a receiver to the service.
enum ReceiverReport: Sendable {
    case accepted
    case ended(ExchangeEnd)
}

extension PartialFile {
    mutating func describe(
        _ representation: Representation, condition: RangeCondition, _ head: ResponseHead, of mirror: String?
    ) {
        self.mirror = mirror
        place = try? TransferURL(parsing: head.url).place
        mediaType = mediaType ?? head.mediaType
        length = nil
        lossReason = nil
        doubt = nil
        total = representation.total
        entityTag = representation.validators.entityTag
        lastModified = representation.validators.lastModified
        date = representation.validators.date
        self.condition = condition.rawValue
        isOfAnotherURL = nil
    }

    /// Returns the bytes on disk, as input for the next request.
    ///
    /// - Parameters:
    ///   - checksum: the checksum that the task asks for.
    ///   - isKept: ``PartialBytes/isKept``.
    func bytes(count: Int64, checksum: Checksum?, isKept: Bool = false) -> PartialBytes {
        var bytes = PartialBytes(
            count: count, total: total,
            validators: Validators(entityTag: entityTag, lastModified: lastModified, date: date),
            condition: RangeCondition(rawValue: condition) ?? .unusable, isOfAnotherURL: isOfAnotherURL ?? false)
        bytes.place = place
        bytes.digests = digests
        // For bytes from another URL, only the checksum shows that they belong to the requested file.
        if bytes.isOfAnotherURL, let checksum { bytes.digests = DigestFields.merged(digests, [checksum]) }
        bytes.isVerified = checksum != nil || !digests.isEmpty
        bytes.isKept = isKept
        bytes.mediaType = mediaType
        bytes.lossReason = lossReason
        bytes.doubt = doubt
        return bytes
    }
}
