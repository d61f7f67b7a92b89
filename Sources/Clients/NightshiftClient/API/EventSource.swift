package import NightshiftAPI

/// An event stream that the service sends as long as the client reads it.
package struct EventSource: Sendable {
    /// The percent-encoded path with its query.
    package let path: String

    private init(_ path: APIPath) {
        self.path = path.text
    }

    /// Returns the stream of new journal entries of some transfers, of a session, or of all transfers.
    ///
    /// - Parameters:
    ///   - progress: Whether progress events are included.
    ///   - session: The session of the transfers; nil for those of all sessions.
    package static func events(progress: Bool, tasks: [TaskID] = [], session: SessionID? = nil) -> EventSource {
        EventSource(
            APIPath("events").query("progress", String(progress)).query("task", list: tasks.map(\.description))
                .query("session", session?.rawValue))
    }

    /// Returns the command stream of this process.
    ///
    /// - Parameters:
    ///   - executable: The program of the app.
    ///   - app: The id that the service assigned to the app.
    ///   - run: The child process that this process runs as background work.
    ///   - isGuest: Whether this process is a secondary process that the app started.
    package static func commands(
        executable: String, app: String? = nil, run: Int32? = nil, isGuest: Bool = false
    ) -> EventSource {
        EventSource(
            APIPath("process", "commands").query("executable", executable).query("app", app)
                .query("run", run.map { Int64($0) }).query("guest", isGuest ? "true" : nil))
    }

    /// Returns the stream of messages of a session of the calling app.
    package static func messages(inSession identifier: String) -> EventSource {
        EventSource(APIPath("process", "sessions", identifier, "messages"))
    }

    /// Returns the stream of location updates for the calling app while it runs.
    package static func locationUpdates(_ wanted: LocationUpdateRequest) -> EventSource {
        EventSource(
            APIPath("process", "location", "updates").query("accuracy", metres(wanted.accuracy))
                .query("distance", metres(wanted.distance)).query("once", wanted.isOnce ? "true" : nil))
    }

    /// Returns a distance in metres with one decimal, without an exponent.
    private static func metres(_ value: Double) -> String {
        let tenths = Int64(saturating: (min(max(value, 0), LocationUpdateRequest.longest) * 10).rounded(.up))
        return "\(tenths / 10).\(tenths % 10)"
    }
}
