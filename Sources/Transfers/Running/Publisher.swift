import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import CNightshift
import Foundation
import Glibc
import Mounts
import NightshiftAPI
import Store

/// The steps that turn finished bytes into a file under its name. All of them block; they run on a ``DiskQueue``.
///
/// Many files go through each step together: the first sync writes the journal of the file system for all of them, and
/// the others find little left to do.
struct Publisher: Sendable {
    /// A download whose bytes are all here and right.
    struct Job: Sendable {
        /// -1 before the file is open.
        var descriptor: Int32
        /// The file system of the destination; nil for the service's own.
        let place: FileSystemKey?
        /// The decisions about the file. Shared by copies: a job is in several lists at a time.
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
        /// Its bytes could not be synced or looked at.
        case failed(Job, TransferFailure)
        /// Its bytes are on disk, and there is no way to its name now.
        case unplaced(Job, TransferFailure)
        /// The folder that it goes to is not there.
        case homeless(Job, TransferFailure)
        /// The file has another length than was written.
        case replaced(Job, TransferFailure)
    }

    enum Outcome: Sendable {
        case published(Prepared)
        /// Somebody else took the name in between.
        case nameTaken(Prepared)
        /// There is no renaming from where the file lies to its name.
        case unreachable(Prepared)
        /// The file has its name, and its directory could not be synced: a power cut might still take the name away.
        case unsynced(Prepared)
        case failed(Prepared, TransferFailure)
        /// What stands under the partial file's name, or had stood there at the last moment, is not what was written.
        case replaced(Prepared, TransferFailure)
    }

    let paths: ServicePaths
    let partials: PartialStorage
    /// The mode of new files: what the service's umask leaves of rw-rw-rw-.
    let mode: mode_t

    /// Puts the data on disk and finds each file its name.
    func prepare(_ jobs: [Job]) -> [Preparation] {
        for job in jobs { _ = nightshift_start_writeback(job.descriptor, 0, 0) }
        var taken: Set<String> = []
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
                return .ready(try prepare(job, taken: &taken))
            } catch {
                return .unplaced(job, error)
            }
        }
    }

    /// Gives the files their names, and syncs the directories.
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
            // A name that stays is removed with what else the task leaves.
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
            // Somebody was quicker than a moment: it is not left under the name that nobody has vouched for.
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

    /// Writes the bytes into the file that is there: one that belongs to somebody else and has to stay theirs.
    ///
    /// Until that is written down, the partial file stays, so that a crash has it done again.
    private static func write(_ item: Prepared) -> Outcome {
        let (path, size) = (item.publication.to, item.publication.size)
        let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return .failed(item, DiskTrouble.failure(errno, "write to \(path)")) }
        defer { close(descriptor) }
        guard let standing = FileStanding(descriptor: descriptor), standing.isRegular else {
            return .failed(item, TransferFailure(.destinationUnavailable, "\(path) is no longer an ordinary file."))
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

    /// Why what stands under `name` is not the file to publish, by its inode and length; nil where it is.
    ///
    /// - Parameter hasBothNames: whether the partial file's name is a second one.
    private static func replacement(
        at name: String, of publication: Publication, hasBothNames: Bool = false
    ) -> TransferFailure? {
        let words: String
        if var standing = FileStanding(name: name) {
            if hasBothNames { standing.links = 1 }
            if let flaw = standing.flaw(owner: publication.owner) {
                words = flaw
            } else if !publication.mayName(standing.inode) {
                words = "another file stands in the partial file's place"
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

    /// Why the folder that a file goes to is not the one that it was accepted for; nil where it is, or where nobody has looked at it.
    private func folderTrouble(of record: TaskRecord) -> TransferFailure? {
        guard let folder = record.folder, let path = record.request.destination?.directory else { return nil }
        return folder.trouble(at: path)
    }

    /// Makes the folder that a file goes to, once; from then on it has to be that one.
    ///
    /// - Returns: why the file cannot go there now.
    func openFolder(of record: inout TaskRecord) -> TransferFailure? {
        guard let destination = record.request.destination else { return nil }
        guard record.folder == nil else { return folderTrouble(of: record) }
        // What is wrong with it shows when the file gets its name.
        _ = makeDirectory(destination.directory, mode: mode(of: destination))
        record.folder = FolderIdentity(path: destination.directory)
        return nil
    }

    /// As ``inspect(_:)``; nobody can tell while the folder is not there.
    func inspect(
        _ publication: Publication, of record: TaskRecord
    ) -> (finding: InterruptedPublication, descriptor: Int32) {
        if publication.failure == nil, folderTrouble(of: record) != nil { return (.unclear, -1) }
        return Self.inspect(publication)
    }

    /// Where a publication that a crash interrupted has got to; with the open file where that waits, else with -1.
    static func inspect(_ publication: Publication) -> (finding: InterruptedPublication, descriptor: Int32) {
        if let there = FileStanding(name: publication.to) {
            if there.isRegular, there.owner == publication.owner ?? geteuid(), there.size == publication.size,
                isNamed(there, publication)
            {
                // It has both names where the crash came between the two, on a file system that knows no other way.
                if FileStanding(name: publication.from)?.inode == there.inode { unlink(publication.from) }
                let directory = (publication.to as NSString).deletingLastPathComponent
                return (FileSteps.syncDirectory(directory) ? .done : .unclear, -1)
            }
        } else if !isAbsence(errno) {
            return (.unclear, -1)
        }
        let descriptor = open(publication.from, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        // Only what is known to be gone is fetched again: it would get another name beside the first.
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

    /// Whether the file that stands under the final name is the one that was to get it.
    ///
    /// Where inodes are not known by their numbers, that is so if the name was free and the partial file is gone, or has both names.
    private static func isNamed(_ there: FileStanding, _ publication: Publication) -> Bool {
        if publication.inode != 0 { return there.inode == publication.inode }
        guard !publication.overwrite else { return false }
        guard let here = FileStanding(name: publication.from) else { return isAbsence(errno) }
        return here.inode == there.inode && here.links > 1
    }

    private func prepare(_ job: Job, taken: inout Set<String>) throws(TransferFailure) -> Prepared {
        let record = job.record
        guard let partial = job.run.decoded ?? record.partial, let standing = FileStanding(descriptor: job.descriptor)
        else {
            throw TransferFailure(.inputOutput, "The file's bytes cannot be looked at.")
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
                    taken: &taken)
                // A link is written through.
                if publication.overwrite { publication.to = try ReplacedFile.resolve(publication.to).get() }
            }
        }
        let directory = (publication.to as NSString).deletingLastPathComponent
        // Somebody may have removed the service's own folder under it.
        if publication.to == keptPath(record.id) { mkdir(paths.files.path, 0o700) }
        var information = stat()
        let isElsewhere = stat(directory, &information) == 0 && UInt64(information.st_dev) != standing.device
        if isElsewhere || job.run.isCopied { return try copyAcross(job, publication) }
        switch try dress(job.descriptor, record, publication) {
        case .fitting: publication.owner = FileStanding(descriptor: job.descriptor)?.foreignOwner
        case .creation: return try copyAcross(job, publication)
        case .ownFile: publication.isInPlace = true
        }
        return Prepared(job: job, publication: publication)
    }

    /// Gives a file the attributes that it has under its name.
    private func dress(
        _ descriptor: Int32, _ record: TaskRecord, _ publication: Publication
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
        return FileAttributes.apply(ofNewFileIn: folder, mode: mode(of: destination), to: descriptor)
    }

    /// The mode of a new file: what the caller's umask leaves of rw-rw-rw-, else what the service's own does.
    private func mode(of destination: Destination) -> mode_t {
        destination.mask.map { 0o666 & ~$0 } ?? mode
    }

    /// Why a file cannot go where it should; nil where it can.
    private func obstacle(_ record: TaskRecord, _ destination: Destination) -> TransferFailure? {
        if let failure = makeDirectory(destination.directory, mode: mode(of: destination)) { return failure }
        guard destination.overwrite ?? false else {
            guard destination.isExact, let path = destination.path, Self.isTaken(path) else { return nil }
            return TransferFailure(.destinationExists, "\(path) already exists.")
        }
        return ReplacedFile.obstacle(
            at: "\(destination.directory)/\(fileName(record, destination))", overwrite: true)
    }

    /// Whether anything has the name.
    static func isTaken(_ path: String) -> Bool {
        var information = stat()
        return lstat(path, &information) == 0
    }

    /// Copies the file into the destination's directory, hidden, for the rename to come.
    private func copyAcross(_ job: Job, _ publication: Publication) throws(TransferFailure) -> Prepared {
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
            if try dress(copy, job.record, publication) == .ownFile {
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

    /// The name asked for, or derived.
    private func fileName(_ record: TaskRecord, _ destination: Destination) -> String {
        if let name = destination.filename { return name }
        let name = FileName.derive(
            contentDisposition: record.response?.headers.first("Content-Disposition"),
            // A mirror may call it something else.
            url: (record.partial?.mirror == nil ? record.currentURL : nil) ?? record.request.url ?? "")
        return Self.takesAnyName(destination.directory) ? name : FileName.plain(name)
    }

    /// Whether a directory takes names with all characters but the slash.
    private static func takesAnyName(_ directory: String) -> Bool {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        return !takingFewerCharacters.contains(nightshift_filesystem_type(descriptor))
    }

    /// msdos and vfat, exfat.
    private static let takingFewerCharacters: Set<Int64> = [0x4d44, 0x2011_bab0]

    /// A file's name; where it is taken and may not be replaced, the next numbered one.
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

    /// Makes a destination's directory where it is missing; nil when it can be used.
    ///
    /// - Parameter mode: of files that come there; ``mode`` unless given.
    func makeDirectory(_ path: String, mode: mode_t? = nil) -> TransferFailure? {
        var information = stat()
        if stat(path, &information) == 0, information.st_mode & S_IFMT == S_IFDIR, access(path, W_OK) == 0 {
            return nil
        }
        // Who may read the file may enter its directory.
        let mode = mode ?? self.mode
        guard FileAttributes.makeFolder(path, mode: mode | 0o700 | (mode & 0o444) >> 2) else {
            return TransferFailure(.destinationUnavailable, "\(path) is not a directory that can be used.")
        }
        return access(path, W_OK) == 0
            ? nil : TransferFailure(.destinationUnavailable, "\(path) cannot be written to.")
    }
}

extension TransferFailure {
    /// The finished bytes are not to be trusted, or gone.
    static func replaced(_ words: String) -> TransferFailure {
        TransferFailure(.inputOutput, "The finished bytes cannot be used: \(words).")
    }

    fileprivate func keeping(_ path: String) -> TransferFailure {
        TransferFailure(code, "\(message) The whole file is kept at \(path).", status: status)
    }
}
