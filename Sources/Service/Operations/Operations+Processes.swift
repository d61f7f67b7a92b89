package import Apps
package import NightshiftAPI
package import Sessions
import Store
import Transfers

/// The process that makes a request about itself.
package struct CallingProcess: Hashable, Sendable {
    package let id: Int32
    /// The name of the command stream that the process believes is open; nil if the process does not name it.
    package let channel: String?

    package init(_ id: Int32, channel: String? = nil) {
        self.id = id
        self.channel = channel
    }
}

/// A session of an app. The calling process identifies the app, and the app's own name for the session identifies the
/// session.
package struct ProcessSession: Hashable, Sendable {
    package let process: ConnectedProcess
    package let identifier: String

    package var app: AppID { process.app }
}

/// Operations of app processes that concern the sessions of their apps.
extension Operations {
    /// Returns the session that a process names.
    package func session(_ identifier: String, by process: CallingProcess) async throws(Problem) -> ProcessSession {
        let caller = try await apps.connectedProcess(process.id, channel: process.channel)
        // Without this check, a second process could make requests whose events would be sent to the first process.
        try await transfers.requireFree(SessionID(app: caller.app, identifier: identifier), for: process.id)
        return ProcessSession(process: caller, identifier: identifier)
    }

    /// Creates the session or reattaches to it, if the app's desktop entry permits the launches that the settings
    /// require.
    package func attach(
        _ session: ProcessSession, _ settings: SessionSettings
    ) async throws(Problem) -> SessionAttachment {
        try await apps.mayKeepSessions(session.app, launchEvents: settings.sessionSendsLaunchEvents)
        return try await transfers.attach(session.app, session.identifier, settings)
    }

    /// Cancels and deletes the session's remaining tasks, then deletes the session and the pending wakes for it.
    package func invalidate(_ session: ProcessSession) async throws(Problem) {
        try await transfers.invalidate(session.app, session.identifier)
        await apps.sessionRemoved(of: session.app)
    }

    /// Accepts tasks that the app has numbered, with conditions that depend on the app's current state.
    ///
    /// Tasks that an app adds in the background are discretionary. After many wakes, they are delayed until the user
    /// opens the app again. A process that was ended by a force quit cannot add tasks, because the force quit could not
    /// cancel them.
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

    /// Returns the session's unfinished tasks.
    package func tasks(
        of session: ProcessSession, after: TaskID?, limit: Int
    ) async throws(Problem) -> SessionTaskPage {
        try await transfers.sessionTasks(session.app, session.identifier, after: after, limit: limit)
    }

    /// Returns a stream of the session's messages: the stored messages first, then new ones. Progress reports arrive
    /// between the messages.
    package func messages(of session: ProcessSession) async throws(Problem) -> AsyncStream<SessionEvent> {
        try await transfers.messages(session.app, session.identifier, process: session.process.processID)
    }

    /// Acknowledges messages that the app has handled.
    package func acknowledge(_ messages: [Int64], of session: ProcessSession) async throws(Problem) {
        try await transfers.acknowledge(session.app, session.identifier, messages)
    }

    /// Applies the app's answer to a challenge or another question about one of its tasks.
    package func answer(_ answer: MessageAnswer, in session: ProcessSession) async throws(Problem) {
        try await transfers.answer(session.app, session.identifier, answer)
    }
}
