/// The state of a transfer as shown by the API.
package enum TaskState: String, Sendable, Codable, CaseIterable {
    /// Paused by its client: no traffic, and no timeouts.
    case suspended
    /// Ready to run but not allowed to yet. Its ``Wait`` says why.
    case waiting
    /// An exchange with the server is in progress.
    case running
    /// All bytes have arrived. They are being verified, synced and moved to the destination.
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
}

package enum TaskKind: String, Sendable, Codable, CaseIterable {
    case download
    case upload
}
