import NightshiftAPI
import Store

extension IllegalTransition {
    /// Returns a sentence for the client whose request the task's state does not allow. It says what to do instead.
    func sentence(about record: TaskRecord) -> String {
        let id = record.id
        switch state {
        case .completed: return "Transfer \(id) has completed; there is nothing to \(verb)."
        case .cancelled: return "Transfer \(id) was cancelled; there is nothing to \(verb)."
        case .failed where event == .resume && record.isRetryable:
            return "Transfer \(id) has failed. To start it again, run: nightshift retry \(id)"
        case .failed: return "Transfer \(id) has failed; there is nothing to \(verb)."
        case .suspended: return "Transfer \(id) is paused."
        case .finishing: return "All bytes of transfer \(id) have arrived. It is being finished."
        case .waiting, .running: return "Transfer \(id) is \(state.rawValue)."
        }
    }

    /// The command line's word for the event.
    private var verb: String {
        switch event {
        case .suspend: "pause"
        case .resume: "resume"
        case .cancel: "cancel"
        case .retry: "retry"
        default: "change"
        }
    }
}

extension TaskRecord {
    /// Whether the task has failed, and a retry can start it again. The bytes of an upload are not kept, and an app
    /// that was notified of the failure decides itself.
    var isRetryable: Bool { state == .failed && kind == .download && file == nil && app == nil }
}
