import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import Foundation
import Glibc
import NightshiftAPI
import Store

/// The service's own copies of files to upload: their owner may change or remove what it has handed over.
struct SourceCopies: Sendable {
    private let folder: String
    /// Tells copies of this run, whose rows may not be written yet, from those of earlier ones.
    private let run: String

    init(paths: ServicePaths, run: String) {
        folder = paths.sources.path
        self.run = run
    }

    /// A copy of `file`; nil where the file system makes none without copying bytes, and no more was asked for.
    ///
    /// Blocks while bytes are copied.
    /// - Throws: ``TransferFailure/Code/sourceMissing``, ``TransferFailure/Code/sourceChanged`` where it is not what it was, or
    ///   trouble of this disk.
    func copy(_ file: UploadSource.File, _ policy: SnapshotPolicy) throws(TransferFailure) -> UploadSource.File? {
        let original = try file.descriptor()
        defer { close(original) }
        let path = "\(folder)/\(run).\(UUID().uuidString)"
        // Somebody may have removed it under the service.
        mkdir(folder, 0o700)
        let copy = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard copy >= 0 else { throw DiskTrouble.failure(errno, "copy \(file.path)") }
        defer { close(copy) }
        do throws(TransferFailure) {
            if ioctl(copy, Self.clone, original) != 0 {
                guard policy == .copy else {
                    unlink(path)
                    return nil
                }
                if let failure = room(for: file, copy) { throw failure }
                // One that became shorter is found out below.
                guard FileSteps.copy(original, to: copy, size: file.identity.size, syncEvery: Self.mostDirty) != nil
                else { throw DiskTrouble.failure(errno, "copy \(file.path)") }
            }
            guard file.isUnchanged(FileIdentity(descriptor: original)) else {
                throw TransferFailure(.sourceChanged, "\(file.path) changed while it was copied.")
            }
            guard fdatasync(copy) == 0, let identity = FileIdentity(descriptor: copy) else {
                throw DiskTrouble.failure(errno, "sync the copy of \(file.path)")
            }
            return UploadSource.File(path: path, identity: identity, isSnapshot: true)
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Sets the copy's bytes aside; a failure where they, and what the service itself writes, do not all have room.
    private func room(for file: UploadSource.File, _ copy: Int32) -> TransferFailure? {
        let size = file.identity.size
        let free = PartialStorage.freeSpace(at: folder)
        let isShort = free.map { $0 - Self.spared < size } ?? false
        guard isShort || PartialStorage.reserve(copy, from: 0, to: size) != nil else { return nil }
        return TransferFailure(
            .diskFull,
            "There is no room in \(folder) for a copy of \(file.path): it takes \(size) bytes, \(free ?? 0) are free, and "
                + "\(Self.spared) are kept for the service itself.")
    }

    /// Makes the names of new copies survive a power cut.
    func syncNames() throws(TransferFailure) {
        guard FileSteps.syncDirectory(folder) else { throw DiskTrouble.failure(errno, "sync \(folder)") }
    }

    func remove(_ record: TaskRecord) {
        if let source = record.uploadSource { remove(source) }
    }

    func remove(_ source: UploadSource) {
        for file in source.files where file.isSnapshot && file.path.hasPrefix(folder) { unlink(file.path) }
    }

    /// Copies that earlier runs have left, needed or not.
    func older() -> Set<String> {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return Set(names.filter { !$0.hasPrefix("\(run).") }.map { "\(folder)/\($0)" })
    }

    /// Bytes of a copy that wait for the disk at most, so that it does not hold up everybody else's.
    private static let mostDirty: Int64 = 32 << 20

    /// Bytes that no copy takes: for the database.
    private static let spared: Int64 = 16 << 20

    /// `FICLONE` of linux/fs.h.
    private static let clone: UInt = 0x4004_9409
}
