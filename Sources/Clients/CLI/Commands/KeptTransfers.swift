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
        guard let resumeData else { throw CommandFailure.failed(continuation) }
        return resumeData
    }

    /// The reason why the task has no resume data, and what to do instead.
    private var continuation: String {
        switch state {
        case .failed where kind == .download && file == nil:
            "Transfer \(id) has failed, and none of its data was kept. To start it again, run: nightshift retry \(id)"
        case .suspended: "Transfer \(id) is paused. To continue it, run: nightshift resume \(id)"
        case .waiting, .running, .finishing: "Transfer \(id) has not ended, so it continues by itself."
        case .completed, .failed, .cancelled:
            "Transfer \(id) cannot be continued, because none of its data was kept."
        }
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
