package import NightshiftAPI

/// Files whose bytes are all here, on their way to their names: who is on it, and whose turn is next.
///
/// Pure. Somebody publishes batch after batch as long as there is any; ``beginDraining()`` says when to call for them. A task
/// leaves by ``end(_:)``, whatever became of it.
package struct FinishQueue<Job: Sendable>: Sendable {
    /// Tasks that are on the way, hashed ones included.
    package private(set) var tasks: Set<TaskID> = []
    private var jobs: [Job] = []
    private var isDraining = false
    private var isSettling = false
    /// Whether rows that say 'finishing' are looked at when the suspects of a fault have been tried.
    package var settlesAfterTrials = false
    private let batch: Int

    /// - Parameter batch: files that share the syncs of one batch.
    package init(batch: Int) {
        self.batch = batch
    }

    package func contains(_ task: TaskID) -> Bool { tasks.contains(task) }

    /// Tasks that are on the way.
    package var count: Int { tasks.count }

    /// All bytes of a task are here.
    package mutating func begin(_ task: TaskID) { tasks.insert(task) }

    /// Nothing more is done for a task.
    package mutating func end(_ task: TaskID) { tasks.remove(task) }

    /// The bytes are the right ones: the file waits for its name.
    package mutating func append(_ job: Job) { jobs.append(job) }

    /// - Returns: whether somebody has to be called to publish what waits; false while somebody does.
    package mutating func beginDraining() -> Bool {
        guard !isDraining, !jobs.isEmpty else { return false }
        isDraining = true
        return true
    }

    /// The files to publish next; nil where there are none any more, which ends the draining.
    package mutating func nextBatch() -> [Job]? {
        guard !jobs.isEmpty else {
            isDraining = false
            return nil
        }
        let next = Array(jobs.prefix(batch))
        jobs.removeFirst(next.count)
        return next
    }

    /// A step could not be written down: rows that say 'finishing' are looked at again after a while.
    ///
    /// - Returns: whether somebody has to be called for that; false where somebody was.
    package mutating func beginSettling() -> Bool {
        guard !isSettling else { return false }
        isSettling = true
        return true
    }

    /// That while is over.
    package mutating func endSettling() { isSettling = false }
}
