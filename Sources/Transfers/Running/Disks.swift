/// Where blocking work is done: one queue for each kind, so that none waits for another kind's.
struct Disks: Sendable {
    let sync = DiskQueue("nightshift.sync")
    let finish = DiskQueue("nightshift.finish")
    let hash = DiskQueue("nightshift.hash")
    let removal = DiskQueue("nightshift.removal")
    let copy = DiskQueue("nightshift.copy")
    /// 1 from the moment the service stops: long work looks at it.
    let stopping = ByteMeter(0)
}
