/// The queues for blocking work: one for each kind, so that no kind waits for another.
struct Disks: Sendable {
    let sync = DiskQueue("nightshift.sync")
    let finish = DiskQueue("nightshift.finish")
    let hash = DiskQueue("nightshift.hash")
    let removal = DiskQueue("nightshift.removal")
    let copy = DiskQueue("nightshift.copy")
    /// Set to 1 when the service begins to stop. Long work checks it.
    let stopping = ByteMeter(0)
}
