package import NightshiftAPI
package import Store

/// A reader of a growing table. It returns rows as events. Stored events come first, then new ones, with progress
/// events in between.
///
/// Rows are read from the store when the consumer requests an event. A consumer that stops requesting events therefore
/// has no cost.
package actor StoredEventReader<Event: Sendable> {
    /// A row read from the table.
    package struct Row: Sendable {
        package var id: Int64
        /// The event. Nil if the consumer does not want the row. The cursor moves past the row anyway.
        package var event: Event?

        package init(id: Int64, event: Event?) {
            self.id = id
            self.event = event
        }
    }

    /// The source of a reader's rows and progress.
    package struct Source: Sendable {
        /// A signal that more rows exist, or that there is new progress.
        package var signal: GrowthSignal
        /// The maximum number of rows in one read.
        package var page: Int
        /// A closure that reads a limited number of rows after an id, in order. It returns nil if the rows cannot be
        /// read, which ends the stream.
        package var rows: @Sendable (_ after: Int64, _ limit: Int) async -> [Row]?
        /// A closure that creates the event which reports that all existing rows up to an id have been sent. Nil if
        /// this event is not wanted.
        package var caughtUp: (@Sendable (Int64) -> Event)?
        /// A closure that returns the progress of running tasks. It returns nil if the progress is not wanted or cannot
        /// be read now.
        package var progress: @Sendable () async -> [TaskProgress]?
        package var report: @Sendable (TaskProgress) -> Event
        /// A closure that returns whether the stream ends once all events have been returned.
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
    /// The id of the last row that was read.
    private var cursor: Int64
    private var pending: ArraySlice<Event>
    /// The last reported progress of each task. The same progress is not reported twice.
    private var reported: [TaskID: TaskProgress] = [:]
    private var hasCaughtUp = false
    private var hasEnded = false

    /// Makes a reader.
    ///
    /// - Parameters:
    ///   - source: The source of rows and progress.
    ///   - cursor: The id of the row after which to begin.
    ///   - first: Events that are returned before any row.
    package init(_ source: Source, after cursor: Int64, first: [Event] = []) {
        self.source = source
        self.cursor = cursor
        pending = first[...]
    }

    /// Ends the stream, because another reader replaces this one. From now on ``next()`` returns nil.
    package func end() {
        hasEnded = true
        source.signal.wakeWaiters()
    }

    /// Returns the next event as soon as there is one. Returns nil when no more events can come, and when the task is
    /// cancelled.
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
            // The stream may have been ended, or progress may have been signalled, since the check above.
            await source.signal.wait(past: cursor, since: wakes)
        }
        return isOver ? nil : pending.popFirst()
    }

    private var isOver: Bool { hasEnded || Task.isCancelled }

    private func readRows(upTo last: Int64) async -> Bool {
        guard let rows = await source.rows(cursor, source.page) else { return false }
        pending.append(contentsOf: rows.compactMap(\.event))
        // A page that is not full is the last one. Rows that are missing up to the last id are deleted or unwanted.
        cursor = rows.count == source.page ? rows.last?.id ?? last : max(last, rows.last?.id ?? 0)
        return true
    }

    private func readProgress() async {
        guard let progress = await source.progress() else { return }
        for item in progress where reported[item.id] != item { pending.append(source.report(item)) }
        reported = Dictionary(uniqueKeysWithValues: progress.map { ($0.id, $0) })
    }
}
