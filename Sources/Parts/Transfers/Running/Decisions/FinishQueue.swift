package import Mounts
package import NightshiftAPI

/// The queue of complete files that wait for their names.
///
/// This is a pure value. Each file system has its own queue, so that a file system that does not respond does not delay
/// the others. One caller per queue publishes batches until the queue is empty; ``beginDraining(at:)`` says when to
/// start such a caller. A task leaves the queue with ``end(_:)``, whatever its result.
package struct FinishQueue<Job: Sendable>: Sendable {
    /// The tasks that are finishing, including those that are being verified.
    package var tasks: Set<TaskID> { Set(places.keys) }
    /// The file system of each task; nil for the service's own file system.
    private var places: [TaskID: FileSystemKey?] = [:]
    private var jobs: [FileSystemKey?: [Job]] = [:]
    private var draining: Set<FileSystemKey?> = []
    private var isSettling = false
    /// Whether finishing tasks are continued only after the crash suspects have been retried.
    package var settlesAfterTrials = false
    private let batch: Int

    /// Creates empty queues.
    ///
    /// - Parameter batch: the number of files that are synced together in one batch.
    package init(batch: Int) {
        self.batch = batch
    }

    package func contains(_ task: TaskID) -> Bool { places[task] != nil }

    /// The number of finishing tasks.
    package var count: Int { places.count }

    /// Returns the number of finishing tasks that are on none of these file systems.
    package func count(besides silent: Set<FileSystemKey>) -> Int {
        silent.isEmpty ? count : places.values.count { $0.map { !silent.contains($0) } ?? true }
    }

    /// Returns the file system of a finishing task; nil for the service's own file system.
    package func place(of task: TaskID) -> FileSystemKey? { places[task] ?? nil }

    /// Adds a task whose bytes are complete.
    package mutating func begin(_ task: TaskID, at place: FileSystemKey? = nil) {
        places.updateValue(place, forKey: task)
    }

    /// Removes a task.
    package mutating func end(_ task: TaskID) { places.removeValue(forKey: task) }

    /// Queues a file with correct bytes for its name.
    package mutating func append(_ job: Job, at place: FileSystemKey? = nil) { jobs[place, default: []].append(job) }

    /// Begins to publish the files of a queue.
    ///
    /// - Returns: whether the caller must publish the queued files; false while another caller does.
    package mutating func beginDraining(at place: FileSystemKey? = nil) -> Bool {
        guard jobs[place] != nil else { return false }
        return draining.insert(place).inserted
    }

    /// Returns the next files to publish. Returns nil if the queue is empty, and the caller must stop then.
    package mutating func nextBatch(at place: FileSystemKey? = nil) -> [Job]? {
        guard let waiting = jobs[place] else {
            draining.remove(place)
            return nil
        }
        let rest = waiting.dropFirst(batch)
        jobs[place] = rest.isEmpty ? nil : Array(rest)
        return Array(waiting.prefix(batch))
    }

    /// Requests a later check of finishing tasks, because a step could not be written.
    ///
    /// - Returns: whether the caller must schedule the check; false if one is already scheduled.
    package mutating func beginSettling() -> Bool {
        guard !isSettling else { return false }
        isSettling = true
        return true
    }

    /// Records that the requested check begins.
    package mutating func endSettling() { isSettling = false }
}
