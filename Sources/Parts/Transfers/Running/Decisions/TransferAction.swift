package import NightshiftAPI
package import Store

/// An action that a ``TransferRun`` requests. Its result is the run's next input.
package indirect enum TransferAction: Hashable, Sendable {
    /// Begins an exchange that the record describes. ``TransferRun/exchangeBegan()`` is called next.
    case ask
    /// Cancels the running exchange. The end of the exchange is a later input.
    case cancel
    /// Closes the file of the exchange that has ended.
    case closeFile
    /// Syncs the file and closes it. ``TransferRun/synced(_:_:_:)`` receives the result.
    case syncFile
    /// Truncates the file to its contiguous beginning and closes it. ``TransferRun/cut(_:_:_:)`` receives the result.
    case cutFile(to: Int64)
    /// Commits the task. ``TransferRun/saved(_:_:_:)`` receives the result.
    case save(TaskRecord, [JournalEntry])
    /// Commits the task while the exchange continues. If the commit fails, the exchange is interrupted for lack of disk
    /// space.
    case note(TaskRecord, [JournalEntry])
    /// Hands the complete file over to the finishing queue. No other work for the task is running.
    case finish([JournalEntry])
    /// Handles a challenge that only the task's app can answer. ``TransferRun/asked(_:_:_:)`` is called next. If the
    /// app has answered the challenge for another task since the exchange began,
    /// ``TransferRun/answeredMeanwhile(_:_:)`` is called instead.
    case question(Challenge)
    /// Commits the task together with the question for its app. ``TransferRun/saved(_:_:_:)`` receives the result.
    case saveQuestion(Challenge, TaskRecord, [JournalEntry])
    /// Stores the body of the last response to an upload. ``TransferRun/bodyKept(_:_:)`` receives the result.
    case keepBody(AnswerBody)
    /// Calls ``TransferRun/concludeAgain(_:)`` after a while.
    case concludeLater
    /// Starts tasks that waited for the origin, because it answers.
    case admitOthers
    /// Removes the copies of the record's upload files, which are no longer needed.
    case removeCopies(TaskRecord)
    /// Removes all bytes of the record on this machine and on the server, because they will not be continued.
    case discard(TaskRecord)
    /// Asks the server to delete the upload.
    case abandonUpload(TaskRecord)
    /// Removes the run of the task, because no work for the task is running.
    case release
    /// Logs the failure that makes the task wait or fail.
    case report(TransferFailure)
    /// Logs a contradiction in the run, which has failed the task.
    case fault(IllegalTransition)
}

extension TransferFailure {
    /// The effect of the failure on the transfer, for the log.
    var consequence: String { isPermanent ? "Transfer failed" : "Transfer waits" }
}

/// The inputs of a run's decision that are not part of the run's own state. They are read again for each input.
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
