import Glibc
import NightshiftAPI
import Store

/// The look at the files of a download before its server is asked. It blocks.
struct DownloadOpening: Sendable {
    let record: TaskRecord
    let partials: PartialStorage
    let publisher: Publisher
    let bootID: String

    /// What was found.
    struct Opened: Sendable {
        /// Nil where nothing was looked for.
        var partial: Opening?
        /// Why there is no use in asking, where the file is open.
        var failure: TransferFailure?
        /// The folder that the file goes to; nil where the service keeps the file.
        var folder: FolderIdentity?
        /// Why the file cannot go to its folder now; nothing else was looked at then.
        var missingFolder: TransferFailure?
        /// The place for a new version's bytes.
        var freshPath: String

        /// Gives back what is open.
        func close() {
            if let file = partial?.file { Glibc.close(file.descriptor) }
        }
    }

    func open() -> Opened {
        // Where the bytes are kept depends on the file system of the destination, which has to be there for that.
        partials.restoreFolder()
        var record = record
        if let failure = publisher.openFolder(of: &record) {
            return Opened(folder: record.folder, missingFolder: failure, freshPath: "")
        }
        // Only what GET gives can be asked for in parts.
        guard record.method == "GET", !record.request.asksConditionally, let partial = record.partial else {
            return Opened(folder: record.folder, freshPath: partials.freshPath(for: record))
        }
        let opening = partials.open(partial, bootID: bootID)
        var left = record
        if case .lost = opening { left.partial = nil }
        var opened = Opened(partial: opening, folder: record.folder, freshPath: partials.freshPath(for: left))
        if let file = opening.file { opened.failure = lackOfSpace(file) }
        return opened
    }

    private func lackOfSpace(_ opened: OpenPartial) -> TransferFailure? {
        guard record.wait?.reason == .diskSpace, let path = record.partial?.path, let total = record.partial?.total,
            let free = PartialStorage.freeSpace(at: path)
        else { return nil }
        let needed = total - max(opened.count, opened.allocated)
        return needed > free ? DiskTrouble.noSpace(needed: needed, free: free) : nil
    }
}
