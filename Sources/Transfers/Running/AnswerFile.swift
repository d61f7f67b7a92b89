import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import Foundation
import Glibc
import NightshiftAPI
import Synchronization

/// The file of one upload's answer that is too long for memory.
///
/// It has a name of its own until the whole answer is here, so that nobody takes a part for the answer. What a crash leaves is
/// removed at the next start.
final class AnswerFile: Sendable {
    /// The name of the kept answer.
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

    /// - Parameter folder: the service's folder for kept files.
    init(of task: TaskID, in folder: String) {
        path = "\(folder)/\(task)"
        draft = "\(path)\(Self.marker)\(PartialNames.token())"
    }

    deinit {
        guard let descriptor else { return }
        close(descriptor)
        unlink(draft)
    }

    /// Bytes in the file; nil where the answer did not need one.
    var count: Int64? { state.withLock { if case .none = $0 { nil } else { position.value } } }

    private var descriptor: Int32? {
        state.withLock { if case .writing(let descriptor) = $0 { descriptor } else { nil } }
    }

    /// Creates the file. It takes one byte more than an answer may have, which tells that it has too many.
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

    /// Gives the file its name, durably. Blocks. Asked again after it has succeeded, it does nothing.
    ///
    /// - Returns: the name; nil where that was not possible now.
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

    /// Whether a name in the folder is that of an answer that was never kept.
    static func isDraft(_ name: String) -> Bool { name.contains(marker) }

    private static let marker = ".answer-"
}
