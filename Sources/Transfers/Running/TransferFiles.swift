import Foundation
import Mounts
import NightshiftAPI
import Store

/// The files of transfers: where their bytes lie, what works on them, and the log of what is under way.
struct TransferFiles: Sendable {
    let partials: PartialStorage
    let sources: SourceCopies
    let publisher: Publisher
    let disks = Disks()
    let systems: FileSystems
    /// What is under way, for whoever comes after a fault.
    let starts: StartLog

    /// - Parameters:
    ///   - run: tells this run's copies from those of earlier ones.
    ///   - mode: of finished files.
    ///   - bootID: of the present boot.
    ///   - systems: the file systems that are not the service's own.
    init(paths: ServicePaths, run: String, mode: UInt32, bootID: String, systems: FileSystems) {
        self.systems = systems
        starts = StartLog(path: paths.starts.path, bootID: bootID)
        partials = PartialStorage(paths: paths)
        sources = SourceCopies(paths: paths, run: run)
        publisher = Publisher(paths: paths, partials: partials, mode: mode)
    }
}
