package import NightshiftAPI

/// Who reads the messages of sessions, which apps can, and what apps have answered to servers. In memory only. Pure.
package struct SessionTable<Reader: AnyObject & Sendable>: Sendable {
    /// The one reader of a session, as long as its stream is there.
    private struct Place {
        weak var reader: Reader?
        let process: Int32
    }

    private var places: [SessionID: Place] = [:]
    private var suspended: Set<AppID> = []
    private var answers: [SessionID: ChallengeAnswers] = [:]

    package init() {}

    /// Who reads a session's messages.
    package func reader(of session: SessionID) -> Reader? { places[session]?.reader }

    /// The process other than `process` that reads a session's messages; nil where none does.
    package func holder(of session: SessionID, besides process: Int32) -> Int32? {
        guard let place = places[session], place.reader != nil, place.process != process else { return nil }
        return place.process
    }

    /// Another stream takes the place of the one before.
    package mutating func put(_ reader: Reader, of process: Int32, for session: SessionID) {
        places[session] = Place(reader: reader, process: process)
    }

    /// An app that is suspended reads nothing.
    package mutating func setListening(_ app: AppID, _ isListening: Bool) {
        if isListening { suspended.remove(app) } else { suspended.insert(app) }
    }

    package func isListening(_ app: AppID) -> Bool { !suspended.contains(app) }

    /// What an app has answered; changes of it are kept.
    package subscript(answersOf session: SessionID) -> ChallengeAnswers {
        get { answers[session] ?? ChallengeAnswers() }
        set { answers[session] = newValue }
    }

    /// Nobody asks for these tasks any more.
    package mutating func forgetAnswers(_ tasks: [TaskID], of session: SessionID) {
        for task in tasks { answers[session]?.remove(task) }
    }

    /// The session is gone.
    package mutating func remove(_ session: SessionID) {
        places[session] = nil
        answers[session] = nil
    }
}
