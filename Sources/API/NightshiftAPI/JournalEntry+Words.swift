package import Foundation

extension JournalEntry {
    /// Returns the entry for transfers that were accepted together. The entry belongs to the first transfer.
    package static func accepted(_ first: TaskID, through last: TaskID, at time: Date) -> JournalEntry {
        JournalEntry(
            time: time, decision: .accepted, task: first,
            detail: first == last ? nil : "Transfers \(first) to \(last).")
    }

    /// Returns the entry for an app that came to the foreground, so that `count` of its transfers no longer need to
    /// wait for good conditions.
    package static func conditionsLifted(of app: AppID, tasks count: Int, at time: Date) -> JournalEntry {
        JournalEntry(
            time: time, decision: .conditionsLifted, app: app,
            detail: count == 1 ? "1 transfer." : "\(count) transfers.")
    }
}
