/// What a task is doing, as the world sees it.
package enum TaskState: String, Sendable, Codable, CaseIterable {
    /// Held by its owner; no traffic, no timeouts.
    case suspended
    /// Wants to run and may not yet; its ``Wait`` says why.
    case waiting
    /// An exchange with the server is under way.
    case running
    /// All bytes are here; they are being verified, synced and put in their place.
    case finishing
    case completed
    case failed
    case cancelled

    /// Whether the task will never change again.
    package var isTerminal: Bool {
        switch self {
        case .suspended, .waiting, .running, .finishing: false
        case .completed, .failed, .cancelled: true
        }
    }
}

package enum TaskKind: String, Sendable, Codable, CaseIterable {
    case download
    case upload
}
