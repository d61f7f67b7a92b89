package import NightshiftAPI

/// A pure value that holds the readers of sessions' messages, the apps that can read, and the apps' answers to servers.
/// It is kept only in memory.
package struct SessionTable<Reader: AnyObject & Sendable>: Sendable {
    /// The one reader of a session and the process that it belongs to. It exists as long as the reader's stream.
    private struct Place {
        weak var reader: Reader?
        let process: Int32
    }

    private var places: [SessionID: Place] = [:]
    private var suspended: Set<AppID> = []
    private var answers: [SessionID: ChallengeAnswers] = [:]

    package init() {}

    /// Returns the reader of a session's messages.
    package func reader(of session: SessionID) -> Reader? { places[session]?.reader }

    /// Returns the process that reads a session's messages, unless it is `process`. Returns nil if no other process
    /// reads them.
    package func holder(of session: SessionID, besides process: Int32) -> Int32? {
        guard let place = places[session], place.reader != nil, place.process != process else { return nil }
        return place.process
    }

    /// Replaces the reader of the session.
    package mutating func put(_ reader: Reader, of process: Int32, for session: SessionID) {
        places[session] = Place(reader: reader, process: process)
    }

    /// Sets whether an app can read messages. A suspended app cannot read messages.
    package mutating func setListening(_ app: AppID, _ isListening: Bool) {
        if isListening { suspended.remove(app) } else { suspended.insert(app) }
    }

    package func isListening(_ app: AppID) -> Bool { !suspended.contains(app) }

    /// The app's answers in the session. If you change the answers through this subscript, the change is stored in this
    /// table.
    package subscript(answersOf session: SessionID) -> ChallengeAnswers {
        get { answers[session] ?? ChallengeAnswers() }
        set { answers[session] = newValue }
    }

    /// Removes the answers for tasks that no longer need them.
    package mutating func forgetAnswers(_ tasks: [TaskID], of session: SessionID) {
        for task in tasks { answers[session]?.remove(task) }
    }

    /// Removes the session.
    package mutating func remove(_ session: SessionID) {
        places[session] = nil
        answers[session] = nil
    }
}
