import NightshiftAPI

/// Tasks that were ended by `nightshift cancel --keep`, or failed with bytes that can be gone on with.
extension TaskStatus {
    /// What a new task of this kind continues from.
    func kept(_ kind: TaskKind) throws -> String {
        guard kind == self.kind else {
            throw CommandFailure.usage(
                "Transfer \(id) is \(self.kind == .upload ? "an upload" : "a download"). Continue it with: "
                    + "nightshift \(self.kind.command) --continue \(id)"
            )
        }
        guard let resumeData else {
            throw CommandFailure.failed("Transfer \(id) cannot be continued, because none of its data was kept.")
        }
        return resumeData
    }
}

extension TaskKind {
    /// The command that makes such tasks.
    var command: String {
        switch self {
        case .download: "get"
        case .upload: "put"
        }
    }
}
