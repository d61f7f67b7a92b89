/// The queues for blocking work: one for each kind, so that no kind waits for another.
struct Disks: Sendable {
    let sync = DiskQueue("nightshift.sync")
    let finish = DiskQueue("nightshift.finish")
    let hash = DiskQueue("nightshift.hash")
    let removal = DiskQueue("nightshift.removal")
    let copy = DiskQueue("nightshift.copy")
    /// A flag that is 1 after the service has begun to stop. Long work checks this flag.
    let stopping = ByteMeter(0)
}
