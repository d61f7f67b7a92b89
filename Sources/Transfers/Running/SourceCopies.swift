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
    func take(_ file: UploadSource.File, _ policy: SnapshotPolicy) throws(TransferFailure) -> UploadSource.File? {
        let original = open(file.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard original >= 0 else {
            throw TransferFailure(
                .sourceMissing, "\(file.path) cannot be read: \(String(cString: strerror(errno))).")
        }
        defer { close(original) }
        let path = "\(folder)/\(run).\(UUID().uuidString)"
        let copy = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard copy >= 0 else { throw DiskTrouble.failure(errno, "copy \(file.path)") }
        defer { close(copy) }
        do throws(TransferFailure) {
            if ioctl(copy, Self.clone, original) != 0 {
                guard policy == .copy else {
                    unlink(path)
                    return nil
                }
                try Self.copyBytes(original, copy, file)
            }
            guard FileIdentity(descriptor: original) == file.identity else {
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

    /// Makes the names of new copies survive a power cut.
    func syncNames() throws(TransferFailure) {
        let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { if directory >= 0 { close(directory) } }
        guard directory >= 0, fsync(directory) == 0 else { throw DiskTrouble.failure(errno, "sync \(folder)") }
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

    private static func copyBytes(
        _ original: Int32, _ copy: Int32, _ file: UploadSource.File
    ) throws(TransferFailure) {
        var offset: off_t = 0
        while offset < file.identity.size {
            let moved = sendfile(copy, original, &offset, 1 << 30)
            if moved < 0, errno == EINTR { continue }
            guard moved > 0 else {
                guard moved < 0 else {
                    throw TransferFailure(.sourceChanged, "\(file.path) became shorter while it was copied.")
                }
                throw DiskTrouble.failure(errno, "copy \(file.path)")
            }
        }
    }

    /// `FICLONE` of linux/fs.h.
    private static let clone: UInt = 0x4004_9409
}
