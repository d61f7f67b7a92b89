import CDispatch  // needed for stat(2), which the compiler attributes to this module
import CNightshift
import Foundation
import Glibc
import Mounts
import NightshiftAPI
import Store

/// The steps that publish finished bytes under their final name. All of them block, and run on a ``WorkQueue``.
///
/// Many files go through each step together. The first sync writes the file system's journal for all of them, so the
/// other syncs are fast.
struct Publisher: Sendable {
    /// A download whose bytes are all on disk and correct.
    struct Job: Sendable {
        /// The open file; -1 while it is not open.
        var descriptor: Int32
        /// The file system of the destination; nil for the service's own file system.
        let place: FileSystemKey?
        /// The run that decides the steps for the file. Copies of a job share it, because a job is in several lists at
        /// the same time.
        @CopyOnWrite var run: FinishRun

        init(run: FinishRun, descriptor: Int32, place: FileSystemKey?) {
            self.run = run
            self.place = place
            self.descriptor = descriptor
        }

        var record: TaskRecord { run.record }
    }

    struct Prepared: Sendable {
        var job: Job
        var publication: Publication
    }

    enum Preparation: Sendable {
        case ready(Prepared)
        /// The bytes could not be synced or checked.
        case failed(Job, TransferFailure)
        /// The bytes are on disk, but the file cannot get its final name now.
        case unplaced(Job, TransferFailure)
        /// The destination folder is missing.
        case homeless(Job, TransferFailure)
        /// The file does not have the length that was written.
        case replaced(Job, TransferFailure)
    }

    enum Outcome: Sendable {
        case published(Prepared)
        /// Another process has created a file with the final name in the meantime.
        case nameTaken(Prepared)
        /// The file cannot be renamed from its current path to its final name.
        case unreachable(Prepared)
        /// The file has its final name, but its directory could not be synced. A power cut might undo the rename.
        case unsynced(Prepared)
        case failed(Prepared, TransferFailure)
        /// The file with the partial file's name, or with the final name after the rename, is not the file that the
        /// service wrote.
        case replaced(Prepared, TransferFailure)
    }

    let paths: ServicePaths
    let partials: PartialStorage
    /// The mode of new files: rw-rw-rw- restricted by the service's umask.
    let mode: mode_t

    /// The names and the attributes that are known while files are prepared together.
    private struct Batch {
        /// The paths that other files of the batch will get.
        var taken: Set<String> = []
        let templates = FileAttributes.Templates()
    }

    /// Syncs the data and chooses each file's name.
    func prepare(_ jobs: [Job]) -> [Preparation] {
        for job in jobs { _ = nightshift_start_writeback(job.descriptor, 0, 0) }
        var batch = Batch()
        return jobs.map { job in
            guard FileSteps.syncData(job.descriptor) else {
                return .failed(job, DiskTrouble.failure(errno, "sync the file"))
            }
            let size = FileStanding(descriptor: job.descriptor)?.size ?? -1
            guard size == job.run.length else {
                return .replaced(job, .replaced("the partial file has \(size) bytes instead of \(job.run.length)"))
            }
            if job.run.refusal == nil, let failure = folderTrouble(of: job.record) { return .homeless(job, failure) }
            do throws(TransferFailure) {
                return .ready(try prepare(job, in: &batch))
            } catch {
                return .unplaced(job, error)
            }
        }
    }

    /// Renames the files to their final names, and syncs the directories.
    func publish(_ prepared: [Prepared]) -> [Outcome] {
        var directories: Set<String> = []
        let outcomes = prepared.map { item -> Outcome in
            let outcome = Self.publish(item)
            if case .published = outcome {
                directories.insert((item.publication.to as NSString).deletingLastPathComponent)
            }
            return outcome
        }
        let unsynced = directories.filter { !FileSteps.syncDirectory($0) }
        guard !unsynced.isEmpty else { return outcomes }
        return outcomes.map { outcome in
            guard case .published(let item) = outcome,
                unsynced.contains((item.publication.to as NSString).deletingLastPathComponent)
            else { return outcome }
            return .unsynced(item)
        }
    }

    private static func publish(_ item: Prepared) -> Outcome {
        let publication = item.publication
        var hasBothNames = false
        defer {
            close(item.job.descriptor)
            // If this fails, the old name is removed later, with the other remains of the task.
            if hasBothNames { unlink(publication.from) }
        }
        if let failure = replacement(at: publication.from, of: publication) { return .replaced(item, failure) }
        if publication.isInPlace ?? false { return write(item) }
        let result =
            publication.overwrite
            ? rename(publication.from, publication.to)
            : nightshift_name_exclusive(publication.from, publication.to)
        guard result >= 0 else {
            switch errno {
            case EEXIST where !publication.overwrite: return .nameTaken(item)
            case EXDEV: return .unreachable(item)
            default: return .failed(item, DiskTrouble.renaming(errno, to: publication.to))
            }
        }
        if let failure = replacement(at: publication.to, of: publication, hasBothNames: result > 0) {
            // The file was replaced during the rename. It must not stay under the final name, because its content is
            // unknown.
            if result > 0 {
                unlink(publication.to)
            } else if !publication.overwrite {
                _ = nightshift_rename_exclusive(publication.to, publication.from)
            }
            return .replaced(item, failure)
        }
        hasBothNames = result > 0
        if publication.from != item.job.record.partial?.path, let old = item.job.record.partial?.path { unlink(old) }
        return .published(item)
    }

    /// Writes the bytes into the existing file, which belongs to another user and must keep its owner.
    ///
    /// The partial file stays until this result is committed, so that the write can be repeated after a crash.
    private static func write(_ item: Prepared) -> Outcome {
        let (path, size) = (item.publication.to, item.publication.size)
        let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return .failed(item, DiskTrouble.failure(errno, "write to \(path)")) }
        defer { close(descriptor) }
        guard let standing = FileStanding(descriptor: descriptor), standing.isRegular else {
            return .failed(item, TransferFailure(.destinationUnavailable, "\(path) is no longer a regular file."))
        }
        if let failure = PartialStorage.reserve(descriptor, from: standing.size, to: size) {
            return .failed(item, failure)
        }
        let count = FileSteps.copy(item.job.descriptor, to: descriptor, size: size)
        guard count == size, ftruncate(descriptor, off_t(size)) == 0, FileSteps.syncData(descriptor) else {
            return .failed(item, DiskTrouble.failure(count == nil || count == size ? errno : EIO, "write to \(path)"))
        }
        return .published(item)
    }

    /// Returns the reason why the file at `name` is not the file to publish, judged by its inode and length; nil if it
    /// is the file to publish.
    ///
    /// - Parameter hasBothNames: whether the partial file's name is a second name of the file.
    private static func replacement(
        at name: String, of publication: Publication, hasBothNames: Bool = false
    ) -> TransferFailure? {
        let words: String
        if var standing = FileStanding(name: name) {
            if hasBothNames { standing.links = 1 }
            if let flaw = standing.flaw(owner: publication.owner) {
                words = flaw
            } else if !publication.mayName(standing.inode) {
                words = "the partial file was replaced by another file"
            } else if standing.size != publication.size {
                words = "the partial file has \(standing.size) bytes instead of \(publication.size)"
            } else {
                return nil
            }
        } else {
            words = "the partial file is gone"
        }
        return .replaced(words)
    }

    /// Returns the reason why the destination folder is not the folder that the task was accepted for. Returns nil if
    /// the folder is the same, or if it was never checked.
    private func folderTrouble(of record: TaskRecord) -> TransferFailure? {
        guard let folder = record.folder, let path = record.request.destination?.directory else { return nil }
        return folder.trouble(at: path)
    }

    /// Creates the destination folder of a file. From then on, its identity must stay the same.
    ///
    /// - Returns: the reason why the file cannot go there now; nil on success.
    func openFolder(of record: inout TaskRecord) -> TransferFailure? {
        guard let destination = record.request.destination else { return nil }
        guard record.folder == nil else { return folderTrouble(of: record) }
        // A failure is reported later, when the file gets its name.
        _ = makeDirectory(destination.directory, mode: mode(of: destination))
        record.folder = FolderIdentity(path: destination.directory)
        return nil
    }

    /// Checks a publication like ``inspect(_:)``. While the folder is missing, the result is `unclear`.
    func inspect(
        _ publication: Publication, of record: TaskRecord
    ) -> (finding: InterruptedPublication, descriptor: Int32) {
        if publication.failure == nil, folderTrouble(of: record) != nil { return (.unclear, -1) }
        return Self.inspect(publication)
    }

    /// Returns the progress of a publication that a crash interrupted. The descriptor is open if the publication is
    /// still pending, otherwise -1.
    static func inspect(_ publication: Publication) -> (finding: InterruptedPublication, descriptor: Int32) {
        if let there = FileStanding(name: publication.to) {
            if there.isRegular, there.owner == publication.owner ?? geteuid(), there.size == publication.size,
                isNamed(there, publication)
            {
                // The file has both names if the crash happened between linking and unlinking. The service does this on
                // file systems that cannot rename a file without replacing another.
                if FileStanding(name: publication.from)?.inode == there.inode { unlink(publication.from) }
                let directory = (publication.to as NSString).deletingLastPathComponent
                return (FileSteps.syncDirectory(directory) ? .done : .unclear, -1)
            }
        } else if !isAbsence(errno) {
            return (.unclear, -1)
        }
        let descriptor = open(publication.from, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        // The file is fetched again only if it is certainly gone. Otherwise the same file could end up under two names.
        guard descriptor >= 0 else { return (isAbsence(errno) ? .lost : .unclear, -1) }
        guard let here = FileStanding(descriptor: descriptor), here.flaw(owner: publication.owner) == nil,
            here.size == publication.size, publication.mayName(here.inode)
        else {
            close(descriptor)
            return (.lost, -1)
        }
        return (.pending, descriptor)
    }

    private static func isAbsence(_ number: Int32) -> Bool { number == ENOENT || number == ENOTDIR }

    /// Returns whether the file under the final name is the file to publish.
    ///
    /// If inode numbers are not reliable, the answer is yes if the final name was free, and the partial file is gone or
    /// has both names.
    private static func isNamed(_ there: FileStanding, _ publication: Publication) -> Bool {
        if publication.inode != 0 { return there.inode == publication.inode }
        guard !publication.overwrite else { return false }
        guard let here = FileStanding(name: publication.from) else { return isAbsence(errno) }
        return here.inode == there.inode && here.links > 1
    }

    private func prepare(_ job: Job, in batch: inout Batch) throws(TransferFailure) -> Prepared {
        let record = job.record
        guard let partial = job.run.decoded ?? record.partial, let standing = FileStanding(descriptor: job.descriptor)
        else {
            throw TransferFailure(.inputOutput, "The file's bytes cannot be read.")
        }
        var publication = Publication(
            from: partial.path, to: keptPath(record.id), inode: standing.inode, size: standing.size, overwrite: true)
        publication.name(standing, job.descriptor)
        publication.verified = job.run.verified
        if let destination = record.request.destination {
            if let failure = job.run.refusal ?? obstacle(record, destination) {
                publication.failure = failure.keeping(publication.to)
            } else {
                publication.overwrite = destination.overwrite ?? false
                publication.to = freeName(
                    for: record, in: destination.directory, overwrite: publication.overwrite || destination.isExact,
                    taken: &batch.taken)
                // If the destination is a link, the link's target is replaced.
                if publication.overwrite { publication.to = try ReplacedFile.resolve(publication.to).get() }
            }
        }
        let directory = (publication.to as NSString).deletingLastPathComponent
        // The service's own folder may have been removed while the service runs.
        if publication.to == keptPath(record.id) { mkdir(paths.files.path, 0o700) }
        var information = stat()
        let isElsewhere = stat(directory, &information) == 0 && UInt64(information.st_dev) != standing.device
        if isElsewhere || job.run.isCopied { return try copyAcross(job, publication, batch) }
        switch try dress(job.descriptor, record, publication, batch) {
        case .fitting: publication.owner = FileStanding(descriptor: job.descriptor)?.foreignOwner
        case .creation: return try copyAcross(job, publication, batch)
        case .ownFile: publication.isInPlace = true
        }
        return Prepared(job: job, publication: publication)
    }

    /// Sets the file attributes that belong to the final name.
    private func dress(
        _ descriptor: Int32, _ record: TaskRecord, _ publication: Publication, _ batch: Batch
    ) throws(TransferFailure) -> FileAttributes.Need {
        guard publication.failure == nil, let destination = record.request.destination else { return .fitting }
        if publication.overwrite, let need = FileAttributes.apply(of: publication.to, to: descriptor) {
            guard need != .ownFile || access(publication.to, W_OK) == 0 else {
                throw TransferFailure(
                    .destinationUnavailable,
                    "\(publication.to) belongs to another user and cannot be written to.")
            }
            return need
        }
        let folder = (publication.to as NSString).deletingLastPathComponent
        return FileAttributes.apply(
            ofNewFileIn: folder, mode: mode(of: destination), to: descriptor, from: batch.templates)
    }

    /// Returns the mode of a new file: rw-rw-rw- restricted by the caller's umask, or by the service's if the caller's
    /// is unknown.
    private func mode(of destination: Destination) -> mode_t {
        destination.mask.map { 0o666 & ~$0 } ?? mode
    }

    /// Returns the reason why a file cannot go to its destination; nil if it can.
    private func obstacle(_ record: TaskRecord, _ destination: Destination) -> TransferFailure? {
        if let failure = makeDirectory(destination.directory, mode: mode(of: destination)) { return failure }
        guard destination.overwrite ?? false else {
            guard destination.isExact, let path = destination.path, Self.isTaken(path) else { return nil }
            return TransferFailure(.destinationExists, "\(path) already exists.")
        }
        return ReplacedFile.obstacle(
            at: "\(destination.directory)/\(fileName(record, destination))", overwrite: true)
    }

    /// Returns whether a file of any type has this name.
    static func isTaken(_ path: String) -> Bool {
        var information = stat()
        return lstat(path, &information) == 0
    }

    /// Copies the file into the destination's directory under a hidden name, so that it can be renamed.
    private func copyAcross(
        _ job: Job, _ publication: Publication, _ batch: Batch
    ) throws(TransferFailure) -> Prepared {
        var publication = publication
        let directory = (publication.to as NSString).deletingLastPathComponent
        let isKept = publication.failure != nil || job.record.request.destination == nil
        let path =
            isKept
            ? partials.keptCopyPath(for: job.record) : partials.copyPath(for: job.record, in: directory)
        let created = try PartialStorage.create(path, total: publication.size).get()
        let original = publication.from
        publication.from = created.path
        let copy = created.descriptor
        defer { close(copy) }
        let count = FileSteps.copy(job.descriptor, to: copy, size: publication.size)
        guard count == publication.size else {
            let failure = DiskTrouble.failure(count == nil ? errno : EIO, "copy the file to \(directory)")
            unlink(publication.from)
            throw failure
        }
        do throws(TransferFailure) {
            if try dress(copy, job.record, publication, batch) == .ownFile {
                unlink(publication.from)
                publication.from = original
                publication.isInPlace = true
                return Prepared(job: job, publication: publication)
            }
        } catch {
            unlink(publication.from)
            throw error
        }
        guard FileSteps.syncData(copy), let copied = FileStanding(descriptor: copy) else {
            let failure = DiskTrouble.failure(errno, "sync the file in \(directory)")
            unlink(publication.from)
            throw failure
        }
        publication.name(copied, copy)
        return Prepared(job: job, publication: publication)
    }

    private func keptPath(_ id: TaskID) -> String {
        paths.files.appending(path: id.description).path
    }

    /// Returns the requested name, or a derived one.
    private func fileName(_ record: TaskRecord, _ destination: Destination) -> String {
        if let name = destination.filename { return name }
        let name = FileName.derive(
            contentDisposition: record.response?.headers.first("Content-Disposition"),
            // A mirror may use another name for the file.
            url: (record.partial?.mirror == nil ? record.currentURL : nil) ?? record.request.url ?? "")
        return Self.takesAnyName(destination.directory) ? name : FileName.plain(name)
    }

    /// Returns whether names in a directory may contain any character except the slash.
    private static func takesAnyName(_ directory: String) -> Bool {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        return !takingFewerCharacters.contains(nightshift_filesystem_type(descriptor))
    }

    /// The magic numbers of msdos, vfat and exfat in linux/magic.h.
    private static let takingFewerCharacters: Set<Int64> = [0x4d44, 0x2011_bab0]

    /// Returns the path for the file. If the name is taken and may not be replaced, the path has the next free number.
    private func freeName(
        for record: TaskRecord, in directory: String, overwrite: Bool, taken: inout Set<String>
    ) -> String {
        let name = record.request.destination.map { fileName(record, $0) } ?? ""
        var path = "\(directory)/\(name)"
        func isTaken(_ path: String) -> Bool {
            var information = stat()
            return taken.contains(path) || lstat(path, &information) == 0
        }
        if !overwrite, isTaken(path) {
            let number = FileName.freeNumber { isTaken("\(directory)/\(FileName.numbered(name, $0))") }
            path = "\(directory)/\(FileName.numbered(name, number))"
        }
        taken.insert(path)
        return path
    }

    /// Creates the destination's directory if it is missing; returns nil if it can be used.
    ///
    /// - Parameter mode: the mode of the files in the directory; ``mode`` by default.
    func makeDirectory(_ path: String, mode: mode_t? = nil) -> TransferFailure? {
        var information = stat()
        if stat(path, &information) == 0, information.st_mode & S_IFMT == S_IFDIR, access(path, W_OK) == 0 {
            return nil
        }
        // Users who may read the file may also enter its directory.
        let mode = mode ?? self.mode
        guard FileAttributes.makeFolder(path, mode: mode | 0o700 | (mode & 0o444) >> 2) else {
            return TransferFailure(.destinationUnavailable, "\(path) cannot be used as a folder.")
        }
        return access(path, W_OK) == 0
            ? nil : TransferFailure(.destinationUnavailable, "\(path) cannot be written to.")
    }
}

extension TransferFailure {
    /// Returns the failure for finished bytes that are gone or cannot be trusted.
    static func replaced(_ words: String) -> TransferFailure {
        TransferFailure(.inputOutput, "The downloaded bytes cannot be used: \(words).")
    }

    fileprivate func keeping(_ path: String) -> TransferFailure {
        TransferFailure(code, "\(message) The complete file is stored at \(path).", status: status)
    }
}
