import NightshiftAPI

/// Transfers that `nightshift cancel --keep` has ended, or that failed with data that can be continued.
extension TaskStatus {
    /// Returns the resume data for a new task of this kind.
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
    /// The command that creates such tasks.
    var command: String {
        switch self {
        case .download: "get"
        case .upload: "put"
        }
    }
}
