import NightshiftAPI

/// Advice for the user about failures that the service retries. Each is given once.
struct FailureAdvice: Sendable {
    private var told: Set<String> = []

    /// Returns the advice; nil if this failure has none, or if it was given before.
    mutating func next(_ failure: TransferFailure?, task: TaskID) -> String? {
        guard let failure, let advice = TaskText.advice(failure, task: task) else { return nil }
        // The message contains the free space, which changes all the time.
        let key = failure.code == .diskFull ? failure.code.rawValue : failure.message
        return told.insert(key).inserted ? advice : nil
    }
}
