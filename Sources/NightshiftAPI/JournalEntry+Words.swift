package import Foundation

extension JournalEntry {
    /// Tasks that were accepted together, told at the first of them.
    package static func accepted(_ first: TaskID, through last: TaskID, at time: Date) -> JournalEntry {
        JournalEntry(
            time: time, decision: .accepted, task: first, detail: first == last ? nil : "Tasks \(first) to \(last).")
    }

    /// An app came to the front, and so many of its tasks need not wait for a good moment any more.
    package static func conditionsLifted(of app: AppID, tasks count: Int, at time: Date) -> JournalEntry {
        JournalEntry(
            time: time, decision: .conditionsLifted, app: app, detail: count == 1 ? "1 task." : "\(count) tasks.")
    }
}
