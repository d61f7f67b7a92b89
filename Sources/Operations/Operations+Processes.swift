package import Apps
package import NightshiftAPI
package import Sessions
import Store
import Transfers

/// A session of an app, as the process that uses it is known and calls it.
package struct ProcessSession: Hashable, Sendable {
    package let process: ConnectedProcess
    package let identifier: String

    package var app: AppID { process.app }
}

/// Operations of apps' processes on the sessions of their apps.
extension Operations {
    /// The session that a process means.
    ///
    /// - Parameter channel: the stream of commands that the process believes to have; nil where it does not say.
    package func session(
        _ identifier: String, ofProcess process: Int32, channel: String?
    ) async throws(Problem) -> ProcessSession {
        let caller = try await apps.connectedProcess(process, channel: channel)
        // What a second process wants of it would be done, and told to the first.
        try await transfers.requireFree(SessionID(app: caller.app, identifier: identifier), for: process)
        return ProcessSession(process: caller, identifier: identifier)
    }

    /// Makes the session or takes it up again, where the app's entry lets the app be launched as the settings want.
    package func attach(
        _ session: ProcessSession, _ settings: SessionSettings
    ) async throws(Problem) -> SessionAttachment {
        try await apps.mayKeepSessions(session.app, launchEvents: settings.sessionSendsLaunchEvents)
        return try await transfers.attach(session.app, session.identifier, settings)
    }

    /// Cancels and forgets what is left of the session, then the session, and with it what its app would be woken for.
    package func invalidate(_ session: ProcessSession) async throws(Problem) {
        try await transfers.invalidate(session.app, session.identifier)
        await apps.sessionRemoved(of: session.app)
    }

    /// Accepts tasks that the app has numbered, on the terms that its state makes them have.
    ///
    /// Tasks that an app adds in the background wait for a good moment, and after many wakes for a while, until its user
    /// is back. A process that its user's force quit has ended adds nothing: what it asked for came too late to be cancelled.
    package func enqueue(
        _ request: SessionEnqueueRequest, in session: ProcessSession
    ) async throws(Problem) -> [TaskID] {
        let (app, isGuest) = (session.app, session.process.isGuest)
        return try await transfers.enqueue(
            app, session.identifier, request, process: session.process.processID,
            on: { transaction, now in
                guard let record = try transaction.app(app) else { return .success(AppTaskTerms()) }
                guard !record.hasBeenForceQuit || isGuest else {
                    return .failure(.conflict("The user has force-quit \(app)."))
                }
                return .success(
                    AppTaskTerms(
                        startsPausedUntil: record.startsPausedUntil(now: now), isInBackground: record.isInBackground))
            })
    }

    /// The session's tasks that have not ended.
    package func tasks(
        of session: ProcessSession, after: TaskID?, limit: Int
    ) async throws(Problem) -> SessionTaskPage {
        try await transfers.sessionTasks(session.app, session.identifier, after: after, limit: limit)
    }

    /// The session's messages, kept ones first and then as they come, and progress in between.
    package func messages(of session: ProcessSession) async throws(Problem) -> AsyncStream<SessionEvent> {
        try await transfers.messages(session.app, session.identifier, process: session.process.processID)
    }

    /// The app has handled these messages.
    package func acknowledge(_ messages: [Int64], of session: ProcessSession) async throws(Problem) {
        try await transfers.acknowledge(session.app, session.identifier, messages)
    }

    /// The app's answer to a question of one of its tasks.
    package func answer(_ answer: MessageAnswer, in session: ProcessSession) async throws(Problem) {
        try await transfers.answer(session.app, session.identifier, answer)
    }
}
