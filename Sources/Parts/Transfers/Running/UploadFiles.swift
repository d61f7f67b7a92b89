import CDispatch  // needed for stat(2), which the compiler attributes to this module
import Glibc
import NightshiftAPI
import Store

/// The open files of one upload exchange.
struct UploadFiles: Sendable {
    private let source: UploadSource
    private let descriptors: [String: Int32]
    private let form: MultipartBody?

    /// Opens the files of an upload.
    ///
    /// - Throws: ``TransferFailure/Code/sourceMissing``, or ``TransferFailure/Code/sourceChanged`` if a file has
    ///   changed since the task was accepted.
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

    /// Opens the files and returns the failure as a value. Blocks as long as the file system does.
    static func open(_ source: UploadSource, of record: TaskRecord) -> Result<UploadFiles, TransferFailure> {
        do throws(TransferFailure) {
            return .success(try UploadFiles(opening: source, of: record))
        } catch {
            return .failure(error)
        }
    }

    /// Returns the pieces for a range of the body.
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

    /// The change of a file since it was opened; nil if all files are unchanged.
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
            "\(path) changed during the upload, so the server may have received a mixture of both versions. "
                + "Start the upload again."
        )
    }
}
