import NightshiftAPI

/// One upload's exchange as the transport's thread sees it: keeps the response's body, bounded.
final class UploadReceiver: ExchangeReceiver {
    let sent = ByteMeter()
    private let report: @Sendable (UploadReceiver, ReceiverReport) -> Void

    init(report: @escaping @Sendable (UploadReceiver, ReceiverReport) -> Void) {
        self.report = report
    }

    func exchange(received head: ResponseHead) -> BodyDisposition {
        .memory(limit: Limits.responseBody)
    }

    func exchangeEnded(_ end: ExchangeEnd) {
        report(self, .ended(end))
    }
}
