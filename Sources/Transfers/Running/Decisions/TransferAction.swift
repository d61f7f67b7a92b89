package import NightshiftAPI
package import Store

/// An action that a ``TransferRun`` requests. Its result is the run's next input.
package indirect enum TransferAction: Hashable, Sendable {
    /// Begin an exchange as the record describes it; then ``TransferRun/exchangeBegan()``.
    case ask
    /// Cancel the running exchange; its end follows.
    case cancel
    /// Close the file of the exchange that has ended.
    case closeFile
    /// Sync the file and close it; then ``TransferRun/synced(_:_:_:)``.
    case syncFile
    /// Truncate the file to its contiguous beginning and close it; then ``TransferRun/cut(_:_:_:)``.
    case cutFile(to: Int64)
    /// Commit the task; then ``TransferRun/saved(_:_:_:)``.
    case save(TaskRecord, [JournalEntry])
    /// Commit the task while the exchange continues. If that fails, interrupt the exchange for lack of disk space.
    case note(TaskRecord, [JournalEntry])
    /// Hand the complete file over to the finishing queue. Nothing else runs for the task.
    case finish([JournalEntry])
    /// Handle a challenge that only the task's app can answer; then ``TransferRun/asked(_:_:_:)``. If the app has
    /// answered it for another task since the exchange began, ``TransferRun/answeredMeanwhile(_:_:)``.
    case question(Challenge)
    /// Commit the task together with the question for its app; then ``TransferRun/saved(_:_:_:)``.
    case saveQuestion(Challenge, TaskRecord, [JournalEntry])
    /// Store the body of the last response to an upload; then ``TransferRun/bodyKept(_:_:)``.
    case keepBody(AnswerBody)
    /// Call ``TransferRun/concludeAgain(_:)`` after a while.
    case concludeLater
    /// Start tasks that waited for the origin, because it answers.
    case admitOthers
    /// Remove the copies of the record's upload files, which are no longer needed.
    case removeCopies(TaskRecord)
    /// Remove all bytes of the record here and on the server, because no task continues them.
    case discard(TaskRecord)
    /// Ask the server to delete the upload.
    case abandonUpload(TaskRecord)
    /// Nothing runs for the task any longer.
    case release
    /// Log the failure that makes the task wait or fail.
    case report(TransferFailure)
    /// Log a contradiction in the run, which has failed the task.
    case fault(IllegalTransition)
}

extension TransferFailure {
    /// The consequence of the failure, for the log.
    var consequence: String { isPermanent ? "Transfer failed" : "Transfer waits" }
}

/// The inputs of a run's decision besides its own state, read again for each input.
package struct RunContext {
    package var now: ClockReading
    /// The route of the task to its origin.
    package var way: HostTable.Way
    /// The reason why the device state blocks the task; nil if it may run.
    package var hold: WaitReason?
    /// Whether the network requires a log-in (captive portal).
    package var isBehindPortal: Bool
    package var isServiceStopping: Bool
    /// Returns numbers in 0..<1, for jitter.
    package var random: () -> Double
    /// Returns a new token for resume data.
    package var token: () -> String

    package init(
        now: ClockReading, way: HostTable.Way, hold: WaitReason?, isBehindPortal: Bool, isServiceStopping: Bool,
        random: @escaping () -> Double, token: @escaping () -> String
    ) {
        self.now = now
        self.way = way
        self.hold = hold
        self.isBehindPortal = isBehindPortal
        self.isServiceStopping = isServiceStopping
        self.random = random
        self.token = token
    }
}
