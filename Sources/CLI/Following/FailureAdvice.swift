import NightshiftAPI

/// A source of advice about failures that the service retries. Each piece of advice is given once.
struct FailureAdvice: Sendable {
    private var told: Set<String> = []

    /// Returns the advice about a failure, or nil if the failure has no advice or the advice was already given.
    mutating func next(_ failure: TransferFailure?, task: TaskID) -> String? {
        guard let failure, let advice = TaskText.advice(failure, task: task) else { return nil }
        // The message contains the free space, which changes often.
        let key = failure.code == .diskFull ? failure.code.rawValue : failure.message
        return told.insert(key).inserted ? advice : nil
    }
}
