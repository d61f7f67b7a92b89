import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import Glibc
import NightshiftAPI
import Store

/// The files of one upload's exchange, open.
struct UploadFiles: Sendable {
    private let source: UploadSource
    private let descriptors: [String: Int32]
    private let form: MultipartBody?

    /// Opens what a task sends.
    ///
    /// - Throws: ``TransferFailure/Code/sourceMissing``, or ``TransferFailure/Code/sourceChanged`` where a file is not what it
    ///   was when the task was accepted.
    init(opening source: UploadSource, of record: TaskRecord) throws(TransferFailure) {
        self.source = source
        form = try record.form(source)
        var descriptors: [String: Int32] = [:]
        var failure: TransferFailure?
        for file in source.files where failure == nil && descriptors[file.path] == nil {
            do throws(TransferFailure) {
                let descriptor = try file.descriptor()
                descriptors[file.path] = descriptor
                guard file.isUnchanged(FileIdentity(descriptor: descriptor)) else { throw Self.changed(file.path) }
            } catch {
                failure = error
            }
        }
        self.descriptors = descriptors
        if let failure {
            close()
            throw failure
        }
    }

    /// The same as a value; blocks as long as the file system does.
    static func open(_ source: UploadSource, of record: TaskRecord) -> Result<UploadFiles, TransferFailure> {
        do throws(TransferFailure) {
            return .success(try UploadFiles(opening: source, of: record))
        } catch {
            return .failure(error)
        }
    }

    /// The bytes of a range of the body.
    func pieces(_ range: Range<Int64>) -> [UploadBody.Piece] {
        guard let form else {
            guard let file = source.files.first, let descriptor = descriptors[file.path] else { return [] }
            return [.file(descriptor: descriptor, offset: range.lowerBound, size: range.upperBound - range.lowerBound)]
        }
        var pieces: [UploadBody.Piece] = []
        var position = range.lowerBound
        while position < range.upperBound, let piece = form.piece(at: position, limit: range.upperBound - position) {
            switch piece {
            case .bytes(let bytes):
                pieces.append(.bytes(Array(bytes)))
                position += Int64(bytes.count)
            case .file(let path, let offset, let count):
                pieces.append(.file(descriptor: descriptors[path] ?? -1, offset: offset, size: count))
                position += count
            }
        }
        return pieces
    }

    /// What has become of a file since it was opened; nil while all are as they were.
    var change: TransferFailure? {
        for file in source.files {
            let opened = descriptors[file.path].flatMap { FileIdentity(descriptor: $0) }
            guard file.isUnchanged(opened), FileIdentity(path: file.path) == opened else {
                return Self.changed(file.path)
            }
        }
        return nil
    }

    func close() {
        for descriptor in descriptors.values { Glibc.close(descriptor) }
    }

    private static func changed(_ path: String) -> TransferFailure {
        TransferFailure(
            .sourceChanged,
            "\(path) has changed since the upload was asked for; what the server got may be neither version. Start it again."
        )
    }
}
