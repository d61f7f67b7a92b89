import NightshiftAPI

/// A source of advice about failures that the service retries. Each piece of advice is given once, and the time for
/// which the service retries with the first.
struct FailureAdvice: Sendable {
    private var told: Set<String> = []

    /// Returns the advice about a failure, or nil if the failure is permanent or the advice was already given.
    mutating func next(_ failure: TransferFailure?, task: TaskID) -> String? {
        guard let failure,
            let advice = TaskText.advice(failure, task: task, saysUntilWhen: told.isEmpty)
        else { return nil }
        // The message contains the free space, which changes often.
        let key = failure.code == .diskFull ? failure.code.rawValue : failure.message
        return told.insert(key).inserted ? advice : nil
    }

    /// The waits that a failure causes. During other waits, the last error is history.
    static let waits: Set<WaitReason> = [.retry, .retryAfter, .hostBackoff, .diskSpace]
}
