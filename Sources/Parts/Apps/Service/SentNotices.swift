import NightshiftAPI

/// The last notice of each kind that the other parts have sent to each app.
struct SentNotices {
    /// The notices of one app. Each has a number that is greater than those of earlier notices.
    typealias OfApp = [ProcessEvent.NoticeKind: (number: Int, notice: ProcessEvent)]

    private var notices: [AppID: OfApp] = [:]
    private var last = 0

    mutating func add(_ notice: ProcessEvent, for app: AppID) {
        guard let kind = notice.noticeKind else { return assertionFailure("\(notice) is not a notice.") }
        last += 1
        notices[app, default: [:]][kind] = (last, notice)
    }

    mutating func forget(_ app: AppID) { notices[app] = nil }

    subscript(app: AppID) -> OfApp { notices[app] ?? [:] }

    /// Returns the answers of the parts, with those replaced that are older than a notice sent since.
    ///
    /// - Parameter before: the notices that had been sent when the parts were asked.
    func updated(_ answers: [ProcessEvent], for app: AppID, since before: OfApp) -> [ProcessEvent] {
        let newer = self[app].filter { kind, last in last.number != before[kind]?.number }
        return answers.filter { answer in answer.noticeKind.map { newer[$0] == nil } ?? true }
            + newer.values.sorted { $0.number < $1.number }.map(\.notice)
    }
}

extension ProcessEvent {
    /// The kinds of notices. Of each kind, only the last notice counts.
    enum NoticeKind: Hashable, Sendable {
        case refresh
        case location
        case push
    }

    var noticeKind: NoticeKind? {
        switch self {
        case .refresh: .refresh
        case .location: .location
        case .push: .push
        case .hello, .command, .stopping: nil
        }
    }
}
