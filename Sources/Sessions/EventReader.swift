package import NightshiftAPI
package import Store

/// One reader's place in a table that grows: its rows as events, kept ones first and then as they come, and progress in between.
///
/// Pull-driven: rows are read from the store when the reader asks for them, so that one that stops costs nothing.
package actor EventReader<Event: Sendable> {
    /// A row that was read.
    package struct Row: Sendable {
        package var id: Int64
        /// Nil where the reader does not want it: it is past all the same.
        package var event: Event?

        package init(id: Int64, event: Event?) {
            self.id = id
            self.event = event
        }
    }

    /// What a reader reads.
    package struct Source: Sendable {
        /// Tells that there are more rows, or that there is progress to look at.
        package var signal: GrowthSignal
        /// Rows that are read at once.
        package var page: Int
        /// Reads rows after an id, at most so many, in their order; nil where they cannot be read, which ends the stream.
        package var rows: @Sendable (_ after: Int64, _ limit: Int) async -> [Row]?
        /// Makes the event that tells that all rows have been sent which were there, up to an id; nil where nobody asks.
        package var caughtUp: (@Sendable (Int64) -> Event)?
        /// How far running tasks are; nil where the reader does not want to know, or cannot read it now.
        package var progress: @Sendable () async -> [TaskProgress]?
        package var report: @Sendable (TaskProgress) -> Event
        /// Whether nothing more comes once there is nothing to tell.
        package var isOver: @Sendable () async -> Bool

        package init(
            signal: GrowthSignal, page: Int, rows: @escaping @Sendable (_ after: Int64, _ limit: Int) async -> [Row]?,
            caughtUp: (@Sendable (Int64) -> Event)? = nil, progress: @escaping @Sendable () async -> [TaskProgress]?,
            report: @escaping @Sendable (TaskProgress) -> Event, isOver: @escaping @Sendable () async -> Bool
        ) {
            self.signal = signal
            self.page = page
            self.rows = rows
            self.caughtUp = caughtUp
            self.progress = progress
            self.report = report
            self.isOver = isOver
        }
    }

    private let source: Source
    /// The last row that was read.
    private var cursor: Int64
    private var pending: ArraySlice<Event>
    /// What was said of each task last, so that nothing is said twice.
    private var reported: [TaskID: TaskProgress] = [:]
    private var hasCaughtUp = false
    private var hasEnded = false

    /// - Parameters:
    ///   - cursor: the row behind which it begins.
    ///   - first: what it is told before any row.
    package init(_ source: Source, after cursor: Int64, first: [Event] = []) {
        self.source = source
        self.cursor = cursor
        pending = first[...]
    }

    /// Lets ``next()`` return nil from here on: another reader takes its place.
    package func end() {
        hasEnded = true
        source.signal.wakeWaiters()
    }

    /// The next event, once there is one; nil when there is none any more, and when the task is cancelled.
    package func next() async -> Event? {
        while pending.isEmpty, !isOver {
            let (last, wakes) = (source.signal.last, source.signal.wakes)
            if cursor < last {
                guard await readRows(upTo: last) else { return nil }
            } else if let caughtUp = source.caughtUp, !hasCaughtUp {
                hasCaughtUp = true
                pending.append(caughtUp(cursor))
            } else {
                await readProgress()
            }
            guard pending.isEmpty, !isOver else { break }
            if await source.isOver() { return nil }
            // Whoever ends the reading, or tells of progress, may have come since.
            await source.signal.wait(past: cursor, since: wakes)
        }
        return isOver ? nil : pending.popFirst()
    }

    private var isOver: Bool { hasEnded || Task.isCancelled }

    private func readRows(upTo last: Int64) async -> Bool {
        guard let rows = await source.rows(cursor, source.page) else { return false }
        pending.append(contentsOf: rows.compactMap(\.event))
        // Behind a short page there was nothing more: rows up to the last one that are not in it are gone, or not wanted.
        cursor = rows.count == source.page ? rows.last?.id ?? last : max(last, rows.last?.id ?? 0)
        return true
    }

    private func readProgress() async {
        guard let progress = await source.progress() else { return }
        for item in progress where reported[item.id] != item { pending.append(source.report(item)) }
        reported = Dictionary(uniqueKeysWithValues: progress.map { ($0.id, $0) })
    }
}
