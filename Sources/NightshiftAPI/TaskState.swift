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
}

package enum TaskKind: String, Sendable, Codable, CaseIterable {
    case download
    case upload
}
