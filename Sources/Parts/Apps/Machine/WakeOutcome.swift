package import NightshiftAPI
package import Store

/// The way in which a wake ended.
package enum WakeOutcome: Hashable, Sendable {
    /// The app has acknowledged the command of the wake with this result.
    case acknowledged(RefreshResult)
    /// The program has exited with a status that completes the wake. For a session, this also acknowledges its
    /// messages.
    case exited(Int32)
    /// The wake was dropped for this reason. The app has not completed the wake, and is not woken for it again.
    case dropped(String)
    /// The process has ended with an unknown status, and may have completed the wake.
    case unseen(String)

    /// The result of the wake; nil if it is unknown.
    package var result: RefreshResult? {
        switch self {
        case .acknowledged(let result): result
        case .exited(let status): RefreshResult(exitStatus: status)
        case .dropped: .failed
        case .unseen: nil
        }
    }

    /// Returns the end of the wake, in the form that features that wait for the result read.
    package func end(at time: Double) -> WakeEnd {
        let detail: String? =
            switch self {
            case .exited(let status) where result == .failed: "The program exited with status \(status)."
            case .acknowledged, .exited: nil
            case .dropped(let why), .unseen(let why): why
            }
        return WakeEnd(result: result, detail: detail, time: time)
    }
}
