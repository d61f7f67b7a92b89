package import NightshiftAPI
package import Store

/// What a ``FinishRun`` wants done. What the engine learns by doing it is the run's next input.
package indirect enum FinishAction: Hashable, Sendable {
    /// Close the file.
    case closeFile
    /// Write the task down; then ``FinishRun/saved(_:)``. Files that go the same way together share a commit.
    case save(TaskRecord, [JournalEntry])
    /// Compare the file's digests, and decode it where it came in a coding; then ``FinishRun/verified(_:now:random:)``.
    case verify(asked: Checksum?, announced: [Checksum], coding: ContentCoding?)
    /// Begin anew with the open file, whose bytes are all here: ``FinishRun/arrived(size:hasHoles:now:)``.
    case arrive
    /// The file waits for its turn to get its name: ``FinishRun/prepared(_:now:)``, or what else its preparation comes to.
    case queue
    /// Give the file its name; then ``FinishRun/published(now:)``, or what else came of that.
    case publish(Publication)
    /// Open the file where it still is; then ``FinishRun/reopened(isSame:)``.
    case reopen(Publication)
    /// Remove what is not needed any more.
    case remove(Remains)
    /// A row says less than what is here, or that it is finishing still: it is looked at again after a while.
    case settleLater
    /// Nothing more is done for the task.
    case release
    /// For the log: the run contradicted itself, which has failed the task.
    case fault(IllegalTransition)

    /// Bytes that a task leaves behind.
    package enum Remains: Hashable, Sendable {
        /// Every byte of the record's, here and in its other places.
        case all(TaskRecord)
        /// What lies in its places and is not what the record names.
        case rest(TaskRecord)
    }
}

/// How far a crash let a file come whose intent was written down.
package enum InterruptedPublication: Hashable, Sendable {
    /// It has its name, and its directory is synced.
    case done
    /// It has its name, and its directory cannot be synced; or nobody can tell now.
    case unclear
    /// The file is where it was.
    case pending
    case lost
}

/// A file whose digests are right.
package struct VerifiedFile: Hashable, Sendable {
    /// The names of the digests that were compared.
    package var names: [String]
    /// The decoded bytes, in a file of their own; nil where the file stays as it came.
    package var decoded: PartialFile?

    package init(names: [String] = [], decoded: PartialFile? = nil) {
        self.names = names
        self.decoded = decoded
    }
}
