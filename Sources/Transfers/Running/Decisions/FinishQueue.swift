package import Mounts
package import NightshiftAPI

/// Files whose bytes are all here, on their way to their names: who is on it, and whose turn is next.
///
/// Pure. Each file system has a line of its own, so that one that does not answer holds up no other. Somebody publishes batch after
/// batch as long as there is any; ``beginDraining(at:)`` says when to call for them. A task leaves by ``end(_:)``, whatever became of
/// it.
package struct FinishQueue<Job: Sendable>: Sendable {
    /// Tasks that are on the way, hashed ones included.
    package var tasks: Set<TaskID> { Set(places.keys) }
    /// The file system of each; nil for the service's own.
    private var places: [TaskID: FileSystemKey?] = [:]
    private var jobs: [FileSystemKey?: [Job]] = [:]
    private var draining: Set<FileSystemKey?> = []
    private var isSettling = false
    /// Whether rows that say 'finishing' are looked at when the suspects of a fault have been tried.
    package var settlesAfterTrials = false
    private let batch: Int

    /// - Parameter batch: files that share the syncs of one batch.
    package init(batch: Int) {
        self.batch = batch
    }

    package func contains(_ task: TaskID) -> Bool { places[task] != nil }

    /// Tasks that are on the way.
    package var count: Int { places.count }

    /// Tasks that are on the way on none of these file systems.
    package func count(besides silent: Set<FileSystemKey>) -> Int {
        silent.isEmpty ? count : places.values.count { $0.map { !silent.contains($0) } ?? true }
    }

    /// The file system of a task that is on the way; nil for the service's own.
    package func place(of task: TaskID) -> FileSystemKey? { places[task] ?? nil }

    /// All bytes of a task are here.
    package mutating func begin(_ task: TaskID, at place: FileSystemKey? = nil) {
        places.updateValue(place, forKey: task)
    }

    /// Nothing more is done for a task.
    package mutating func end(_ task: TaskID) { places.removeValue(forKey: task) }

    /// The bytes are the right ones: the file waits for its name.
    package mutating func append(_ job: Job, at place: FileSystemKey? = nil) { jobs[place, default: []].append(job) }

    /// - Returns: whether somebody has to be called to publish what waits; false while somebody does.
    package mutating func beginDraining(at place: FileSystemKey? = nil) -> Bool {
        guard jobs[place] != nil else { return false }
        return draining.insert(place).inserted
    }

    /// The files to publish next; nil where there are none any more, which ends the draining.
    package mutating func nextBatch(at place: FileSystemKey? = nil) -> [Job]? {
        guard let waiting = jobs[place] else {
            draining.remove(place)
            return nil
        }
        let rest = waiting.dropFirst(batch)
        jobs[place] = rest.isEmpty ? nil : Array(rest)
        return Array(waiting.prefix(batch))
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
