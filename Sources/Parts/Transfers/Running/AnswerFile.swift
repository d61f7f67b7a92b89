import CDispatch  // needed for stat(2), which the compiler attributes to this module
import Foundation
import Glibc
import NightshiftAPI
import Synchronization

/// The file for the response to one upload, if the response is too long for memory.
///
/// It has a temporary name until the whole response has arrived, so that a part is never mistaken for the response. A
/// file left by a crash is removed at the next start.
final class AnswerFile: Sendable {
    /// The final path of the stored response.
    private let path: String
    private let draft: String
    private let position = ByteMeter()
    private let state = Mutex(State.none)

    private enum State {
        case none
        case writing(Int32)
        case refused
        case kept
    }

    /// Chooses the paths for the response of a task, without creating the file.
    ///
    /// - Parameter folder: the service's folder for stored files.
    init(of task: TaskID, in folder: String) {
        path = "\(folder)/\(task)"
        draft = "\(path)\(Self.marker)\(PartialNames.token())"
    }

    deinit {
        guard let descriptor else { return }
        close(descriptor)
        unlink(draft)
    }

    /// The number of bytes in the file; nil if the response did not need a file.
    var count: Int64? { state.withLock { if case .none = $0 { nil } else { position.value } } }

    private var descriptor: Int32? {
        state.withLock { if case .writing(let descriptor) = $0 { descriptor } else { nil } }
    }

    /// Creates the file. The file may have one byte more than a response may have. This byte shows that a response is
    /// too long.
    func open() -> Result<FileSink, TransferFailure> {
        state.withLock { state in
            if case .writing(let descriptor) = state { close(descriptor) }
            state = .refused
            switch PartialStorage.create(draft, total: nil) {
            case .failure(let failure): return .failure(failure)
            case .success(let file) where file.path != draft:
                close(file.descriptor)
                unlink(file.path)
                return .failure(DiskTrouble.failure(EEXIST, "create \(draft)"))
            case .success(let file):
                state = .writing(file.descriptor)
                position.value = 0
                return .success(
                    FileSink(
                        descriptor: file.descriptor, offset: 0, length: nil, position: position,
                        ceiling: ByteMeter(.max), end: ByteMeter(Limits.responseBody + 1)))
            }
        }
    }

    /// Gives the file its final name, durably. Blocks. A repeated call after success does nothing.
    ///
    /// - Returns: the path; nil after a failure.
    func keep() -> String? {
        state.withLock { state in
            if case .writing(let descriptor) = state, FileSteps.syncData(descriptor), rename(draft, path) == 0 {
                close(descriptor)
                state = .kept
            }
            guard case .kept = state, FileSteps.syncDirectory((path as NSString).deletingLastPathComponent) else {
                return nil
            }
            return path
        }
    }

    /// Writes a short response to its final path, durably. Blocks.
    ///
    /// - Returns: whether it was written.
    static func write(_ body: [UInt8], to path: String) -> Bool {
        guard case .success(let file) = PartialStorage.create(path, total: nil) else { return false }
        let descriptor = file.descriptor
        defer { close(descriptor) }
        guard file.path == path else { return false }
        var offset = 0
        while offset < body.count {
            let count = body[offset...].withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
            guard count > 0 else { return false }
            offset += count
        }
        return fdatasync(descriptor) == 0
    }

    /// Returns whether a name in the folder belongs to a response that was never completed.
    static func isDraft(_ name: String) -> Bool { name.contains(marker) }

    private static let marker = ".answer-"
}
