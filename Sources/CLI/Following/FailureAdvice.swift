import NightshiftAPI

/// What can be done about failures that the service goes on trying to get past, each said once.
struct FailureAdvice: Sendable {
    private var told: Set<String> = []

    /// The advice; nil where there is none, or where it was given.
    mutating func next(_ failure: TransferFailure?, task: TaskID) -> String? {
        guard let failure, let advice = TaskText.advice(failure, task: task) else { return nil }
        // How much room there is changes all the time.
        let key = failure.code == .diskFull ? failure.code.rawValue : failure.message
        return told.insert(key).inserted ? advice : nil
    }
}
