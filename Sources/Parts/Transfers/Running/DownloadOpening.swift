import Glibc
import NightshiftAPI
import Store

/// The check of a download's files before the request is sent. It blocks.
struct DownloadOpening: Sendable {
    let record: TaskRecord
    let partials: PartialStorage
    let publisher: Publisher
    let bootID: String

    /// The results of the check.
    struct Opened: Sendable {
        /// The partial file; nil if none was expected.
        var partial: Opening?
        /// The reason not to send the request, although the file is open.
        var failure: TransferFailure?
        /// The destination folder of the file; nil if the service stores the file.
        var folder: FolderIdentity?
        /// The reason why the file cannot go to its folder now. Nothing else was checked in that case.
        var missingFolder: TransferFailure?
        /// The path for the bytes of a new version.
        var freshPath: String

        /// Closes the open file.
        func close() {
            if let file = partial?.file { Glibc.close(file.descriptor) }
        }
    }

    func open() -> Opened {
        // The location of the partial file depends on the file system of the destination, so the destination has to
        // exist.
        partials.restoreFolder()
        var record = record
        if let failure = publisher.openFolder(of: &record) {
            return Opened(folder: record.folder, missingFolder: failure, freshPath: "")
        }
        // Ranges can be requested only with GET.
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
