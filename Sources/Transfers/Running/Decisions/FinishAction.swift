package import NightshiftAPI
package import Store

/// An action that a ``FinishRun`` requests. Its result is the run's next input.
package indirect enum FinishAction: Hashable, Sendable {
    /// Close the file.
    case closeFile
    /// Commit the task; then ``FinishRun/saved(_:)``. Files that are processed together share a commit.
    case save(TaskRecord, [JournalEntry])
    /// Compare the file's digests, and decode it if it has a content coding; then
    /// ``FinishRun/verified(_:now:random:)``.
    case verify(asked: Checksum?, announced: [Checksum], coding: ContentCoding?)
    /// Start again with the open file, whose bytes are complete: ``FinishRun/arrived(size:hasHoles:now:)``.
    case arrive
    /// Put the file into the queue for its name; then ``FinishRun/prepared(_:now:)``, or another result of the
    /// preparation.
    case queue
    /// Give the file its name; then ``FinishRun/published(now:)``, or another result.
    case publish(Publication)
    /// Open the file at its current path; then ``FinishRun/reopened(isSame:)``.
    case reopen(Publication)
    /// Remove files that are no longer needed.
    case remove(Remains)
    /// Check the task again after a while, because its row is outdated: it lacks bytes that are on disk, or still says
    /// 'finishing'.
    case settleLater
    /// No work for the task is left.
    case release
    /// Log a contradiction in the run, which has failed the task.
    case fault(IllegalTransition)

    /// The remaining files of a task.
    package enum Remains: Hashable, Sendable {
        /// All files of the record, at all of its paths.
        case all(TaskRecord)
        /// The files at the record's paths, except the one that it names.
        case rest(TaskRecord)
    }
}

/// The progress of a committed publication that a crash interrupted.
package enum InterruptedPublication: Hashable, Sendable {
    /// The file has its name, and its directory is synced.
    case done
    /// The file has its name but its directory cannot be synced, or the state cannot be read now.
    case unclear
    /// The file is still at its old path.
    case pending
    case lost
}

/// A file whose digests are correct.
package struct VerifiedFile: Hashable, Sendable {
    /// The names of the digests that were compared.
    package var names: [String]
    /// The decoded bytes in a separate file; nil if the file stays as it was received.
    package var decoded: PartialFile?

    package init(names: [String] = [], decoded: PartialFile? = nil) {
        self.names = names
        self.decoded = decoded
    }
}
