import NightshiftAPI
import Store

/// Where the bytes of transfers lie, and what works on them.
struct TransferFiles: Sendable {
    let partials: PartialStorage
    let sources: SourceCopies
    let publisher: Publisher
    let disks = Disks()

    /// - Parameters:
    ///   - run: tells this run's copies from those of earlier ones.
    ///   - mode: of finished files.
    init(paths: ServicePaths, run: String, mode: UInt32) {
        partials = PartialStorage(paths: paths)
        sources = SourceCopies(paths: paths, run: run)
        publisher = Publisher(paths: paths, partials: partials, mode: mode)
    }
}
