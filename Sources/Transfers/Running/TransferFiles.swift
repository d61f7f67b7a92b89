import Foundation
import Mounts
import NightshiftAPI
import Store

/// The files of transfers: the locations of their bytes, the code that works on the files, and the log of running work.
struct TransferFiles: Sendable {
    let partials: PartialStorage
    let sources: SourceCopies
    let publisher: Publisher
    let disks = Disks()
    let systems: FileSystems
    /// The log of running work, for the next run of the service after a crash.
    let starts: StartLog

    /// Creates the objects that work on files. They share the service's folders.
    ///
    /// - Parameters:
    ///   - run: an identifier that distinguishes this run's copies from those of earlier runs.
    ///   - mode: the mode of finished files.
    ///   - bootID: the id of the current boot.
    ///   - systems: the file systems other than the service's own.
    init(paths: ServicePaths, run: String, mode: UInt32, bootID: String, systems: FileSystems) {
        self.systems = systems
        starts = StartLog(path: paths.starts.path, bootID: bootID)
        partials = PartialStorage(paths: paths)
        sources = SourceCopies(paths: paths, run: run)
        publisher = Publisher(paths: paths, partials: partials, mode: mode)
    }
}
