import NightshiftAPI

/// Properties of transfers that were cancelled with `--keep`, or that failed with data that a new transfer can use.
extension TaskStatus {
    /// Returns the resume data for a new task of this kind. Throws an error if the task has none.
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
    /// The name of the command that creates transfers of this kind.
    var command: String {
        switch self {
        case .download: "get"
        case .upload: "put"
        }
    }
}
