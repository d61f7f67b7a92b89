package import Foundation

extension JournalEntry {
    /// Tasks that were accepted together, told at the first of them.
    package static func accepted(_ first: TaskID, through last: TaskID, at time: Date) -> JournalEntry {
        JournalEntry(
            time: time, decision: .accepted, task: first, detail: first == last ? nil : "Tasks \(first) to \(last).")
    }
}
