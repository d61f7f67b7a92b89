import NightshiftAPI

extension TaskKind {
    /// A sentence that says how a transfer is finished, after its bytes were transferred.
    var finishingSentence: String {
        switch self {
        case .download: "The file is being checked and moved to its destination."
        case .upload: "The server has answered. Its response is being stored."
        }
    }
}
