package import NightshiftAPI
package import Store

/// What a ``TransferRun`` wants done. What the engine learns by doing it is the run's next input.
package indirect enum TransferAction: Hashable, Sendable {
    /// Begin an exchange with what the record says; then ``TransferRun/exchangeBegan()``.
    case ask
    /// Break off what is under way; its end follows.
    case cancel
    /// Close the file of the exchange that has ended.
    case closeFile
    /// Sync the file and close it; then ``TransferRun/synced(_:_:_:)``.
    case syncFile
    /// Cut the file to its contiguous beginning and close it; then ``TransferRun/cut(_:_:_:)``.
    case cutFile(to: Int64)
    /// Write the task down; then ``TransferRun/saved(_:_:_:)``.
    case save(TaskRecord, [JournalEntry])
    /// Write the task down while the exchange goes on; where that is not possible, interrupt it for want of space.
    case note(TaskRecord, [JournalEntry])
    /// Every byte is in the file: it is on its way to its name, and nothing runs for the task any more.
    case finish([JournalEntry])
    /// A server asks what only the task's app can say; then ``TransferRun/asked(_:_:_:)``, or
    /// ``TransferRun/answeredMeanwhile(_:_:)`` where the app has said it to another task since the exchange began.
    case question(Challenge)
    /// Write the task down with the question for its app; then ``TransferRun/saved(_:_:_:)``.
    case saveQuestion(Challenge, TaskRecord, [JournalEntry])
    /// Keep the body of the last answer to an upload; then ``TransferRun/bodyKept(_:_:)``.
    case keepBody(AnswerBody)
    /// After a while, ``TransferRun/concludeAgain(_:)``.
    case concludeLater
    /// The origin answers: what waited for it may start.
    case admitOthers
    /// The copies of what the record was to send have no use any more.
    case removeCopies(TaskRecord)
    /// Nobody continues what the record names, here or at the server.
    case discard(TaskRecord)
    /// The server may forget the upload.
    case abandonUpload(TaskRecord)
    /// Nothing runs for the task any more.
    case release
    /// For the log: it waits, or has failed, because of this.
    case report(TransferFailure)
    /// For the log: the run contradicted itself, which has failed the task.
    case fault(IllegalTransition)
}

extension TransferFailure {
    /// What it leads to, for the log.
    var consequence: String { isPermanent ? "Transfer failed" : "Transfer has to wait" }
}

/// What a run decides from, beside itself: read anew for each input.
package struct RunContext {
    package var now: ClockReading
    /// How the task gets to its origin.
    package var way: HostTable.Way
    /// What the moment holds the task back for; nil where it may run.
    package var hold: WaitReason?
    /// Whether the network says that somebody has to log in.
    package var isBehindPortal: Bool
    package var isServiceStopping: Bool
    /// 0..<1, for jitter.
    package var random: () -> Double
    /// A new token for resume data.
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
