/// The state of a transfer as shown by the API.
package enum TaskState: String, Sendable, Codable, CaseIterable {
    /// The state of a transfer that its client paused. A paused transfer sends no requests, and its timeouts do not
    /// run.
    case suspended
    /// The state of a transfer that is ready but not allowed to run yet. The ``Wait`` of the transfer gives the reason.
    case waiting
    /// The state of a transfer in an exchange with the server.
    case running
    /// The state of a transfer that has received all bytes. The file is being verified, synced and moved to its
    /// destination.
    case finishing
    case completed
    case failed
    case cancelled

    /// Whether this is a final state.
    package var isTerminal: Bool {
        switch self {
        case .suspended, .waiting, .running, .finishing: false
        case .completed, .failed, .cancelled: true
        }
    }

    /// The name of the state for display. The API's state `suspended` is called paused.
    package var name: String { self == .suspended ? "paused" : rawValue }

    /// Returns the words for a transfer of this kind in this state.
    package func wording(_ kind: TaskKind) -> Wording {
        let sentence =
            switch (self, kind) {
            case (.suspended, _): "It is paused. Resume it to continue."
            case (.waiting, _): WaitReason.starting.sentence
            case (.running, .download): "It is downloading."
            case (.running, .upload): "It is uploading."
            case (.finishing, _): "All bytes were transferred. \(kind.finishing.sentence)"
            case (.completed, .download): "It is complete."
            case (.completed, .upload): "It was sent."
            case (.failed, _): "It failed."
            case (.cancelled, _): "It was cancelled."
            }
        return Wording(short: self == .finishing ? kind.finishing.short : name, sentence: sentence)
    }
}

package enum TaskKind: String, Sendable, Codable, CaseIterable {
    case download
    case upload

    /// The words for the steps after the last byte.
    package var finishing: Wording {
        switch self {
        case .download:
            Wording(
                short: "checking and moving to its destination",
                sentence: "The file is being checked and moved to its destination.")
        case .upload:
            Wording(
                short: "storing the response", sentence: "The server has answered. Its response is being stored.")
        }
    }
}

extension TaskStatus {
    /// An explanation of the state.
    package var explanation: String {
        let words = state.wording(kind).sentence
        let reason = wait.map { [$0.reason.sentence, $0.detail].compactMap(\.self).joined(separator: " ") }
        return switch state {
        case .suspended, .waiting: reason ?? words
        case .finishing: [words, reason].compactMap(\.self).joined(separator: " ")
        case .completed: file.map { "Saved as \($0)" } ?? words
        case .failed: [words, error?.message].compactMap(\.self).joined(separator: " ")
        case .running, .cancelled: words
        }
    }
}
