package import NightshiftAPI
package import Store

/// An action that a ``FinishRun`` requests. Its result is the run's next input.
package indirect enum FinishAction: Hashable, Sendable {
    /// Closes the file.
    case closeFile
    /// Commits the task. ``FinishRun/saved(_:)`` receives the result. Files that are processed together share a commit.
    case save(TaskRecord, [JournalEntry])
    /// Compares the file's digests, and decodes the file if it has a content coding.
    /// ``FinishRun/verified(_:now:random:)`` receives the result.
    case verify(asked: Checksum?, announced: [Checksum], coding: ContentCoding?)
    /// Starts again with the open file, whose bytes are complete, by calling ``FinishRun/arrived(size:hasHoles:now:)``.
    case arrive
    /// Adds the file to the queue of files that wait for their names. ``FinishRun/prepared(_:now:)`` or another method
    /// receives the result.
    case queue
    /// Gives the file its name. ``FinishRun/published(now:)`` or another method receives the result.
    case publish(Publication)
    /// Opens the file at its current path. ``FinishRun/reopened(isSame:)`` receives the result.
    case reopen(Publication)
    /// Removes files that are no longer needed.
    case remove(Remains)
    /// Checks the task again after a while, because its row is outdated: the row lacks bytes that are on disk, or still
    /// says 'finishing'.
    case settleLater
    /// Removes the run of the task, because no work for the task is left.
    case release
    /// Logs a contradiction in the run, which has failed the task.
    case fault(IllegalTransition)

    /// The remaining files of a task.
    package enum Remains: Hashable, Sendable {
        /// All files of the record, at all of its paths.
        case all(TaskRecord)
        /// The files at the record's paths, except the file that the record names.
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
