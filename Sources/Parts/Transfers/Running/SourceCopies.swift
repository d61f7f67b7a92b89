import CDispatch  // needed for stat(2), which the compiler attributes to this module
import Foundation
import Glibc
import NightshiftAPI
import Store

/// The service's own copies of files to upload, because the owner may change or remove the originals.
struct SourceCopies: Sendable {
    private let folder: String
    /// An identifier of this run of the service. It distinguishes new copies, whose rows may not be committed yet, from
    /// the copies of earlier runs.
    private let run: String

    init(paths: ServicePaths, run: String) {
        folder = paths.sources.path
        self.run = run
    }

    /// Makes a copy of `file`. Returns nil if the file system cannot copy without copying bytes, and the policy does
    /// not require a copy.
    ///
    /// Blocks while bytes are copied.
    /// - Throws: ``TransferFailure/Code/sourceMissing``, ``TransferFailure/Code/sourceChanged`` if the file has
    ///   changed, or a failure of this disk.
    func copy(_ file: UploadSource.File, _ policy: SnapshotPolicy) throws(TransferFailure) -> UploadSource.File? {
        let original = try file.descriptor()
        defer { close(original) }
        let path = "\(folder)/\(run).\(UUID().uuidString)"
        // The folder may have been removed while the service runs.
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
                // The check below detects a file that became shorter.
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

    /// Reserves space for the copy. Returns a failure if there is not enough space for the copy and the service's own
    /// data.
    private func room(for file: UploadSource.File, _ copy: Int32) -> TransferFailure? {
        let size = file.identity.size
        let free = PartialStorage.freeSpace(at: folder)
        let isShort = free.map { $0 - Self.spared < size } ?? false
        guard isShort || PartialStorage.reserve(copy, from: 0, to: size) != nil else { return nil }
        return TransferFailure(
            .diskFull,
            "\(folder) has too little free space for a copy of \(file.path): the copy needs "
                + "\(QuantityText.size(size)), \(QuantityText.size(free ?? 0)) are free, and "
                + "\(QuantityText.size(Self.spared)) of them are reserved for the service itself.")
    }

    /// Syncs the folder, so that the names of new copies survive a power cut.
    func syncNames() throws(TransferFailure) {
        guard FileSteps.syncDirectory(folder) else { throw DiskTrouble.failure(errno, "sync \(folder)") }
    }

    func remove(_ record: TaskRecord) {
        if let source = record.uploadSource { remove(source) }
    }

    func remove(_ source: UploadSource) {
        for file in source.files where file.isSnapshot && file.path.hasPrefix(folder) { unlink(file.path) }
    }

    /// Returns all copies that earlier runs have left, including copies that are still needed.
    func older() -> Set<String> {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return Set(names.filter { !$0.hasPrefix("\(run).") }.map { "\(folder)/\($0)" })
    }

    /// The highest number of bytes of a copy that wait to be written to disk. A higher number would delay the writes of
    /// other programs.
    private static let mostDirty: Int64 = 32 << 20

    /// The number of bytes that must stay free for the database.
    private static let spared: Int64 = 16 << 20

    /// The number of the ioctl `FICLONE` from linux/fs.h.
    private static let clone: UInt = 0x4004_9409
}
