import Executors

/// The queues for blocking work: one for each kind, so that no kind waits for another.
struct Disks: Sendable {
    let sync = WorkQueue()
    let finish = WorkQueue()
    let hash = WorkQueue()
    let removal = WorkQueue()
    let copy = WorkQueue()
    /// A flag that is 1 after the service has begun to stop. Long work checks this flag.
    let stopping = ByteMeter(0)
}
