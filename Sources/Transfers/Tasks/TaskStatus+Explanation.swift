import NightshiftAPI

extension TaskStatus {
    /// An explanation of the state, for display.
    var explanation: String {
        switch state {
        case .suspended:
            wait.map { [$0.reason.sentence, $0.detail].compactMap(\.self).joined(separator: " ") }
                ?? "It is paused. Resume it to continue."
        case .waiting:
            [wait?.reason.sentence, wait?.detail].compactMap(\.self).joined(separator: " ")
        case .running: "It is running."
        case .finishing:
            (["All bytes were transferred. \(kind.finishingSentence)"]
                + [wait?.reason.sentence, wait?.detail].compactMap(\.self)).joined(separator: " ")
        case .completed: file.map { "It is complete: \($0)" } ?? "It is complete."
        case .failed: "It failed. \(error?.message ?? "")"
        case .cancelled: "It was cancelled."
        }
    }
}
