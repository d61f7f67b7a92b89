package import NightshiftAPI

/// A stream of events that the service sends for as long as somebody reads.
package struct EventSource: Sendable {
    /// With its query; percent-encoded.
    package let path: String

    private init(_ path: APIPath) {
        self.path = path.text
    }

    /// The journal as it grows, of some tasks or of all.
    ///
    /// - Parameter progress: whether progress is told in between.
    package static func events(progress: Bool, tasks: [TaskID] = []) -> EventSource {
        EventSource(
            APIPath("events").query("progress", String(progress)).query("task", list: tasks.map(\.description)))
    }

    /// What the service has to say to this process: its channel.
    ///
    /// - Parameters:
    ///   - executable: the app's program.
    ///   - app: the id that the service has given the app.
    ///   - run: the child that this process is to run as background work.
    ///   - isGuest: whether this process is not the app's own, but one that it has started.
    package static func commands(
        executable: String, app: String? = nil, run: Int32? = nil, isGuest: Bool = false
    ) -> EventSource {
        EventSource(
            APIPath("process", "commands").query("executable", executable).query("app", app)
                .query("run", run.map { Int64($0) }).query("guest", isGuest ? "true" : nil))
    }

    /// The messages of a session of this process's app.
    package static func messages(inSession identifier: String) -> EventSource {
        EventSource(APIPath("process", "sessions", identifier, "messages"))
    }

    /// The places that this process's app asks for while it runs.
    package static func locationUpdates(_ wanted: LocationUpdateRequest) -> EventSource {
        EventSource(
            APIPath("process", "location", "updates").query("accuracy", metres(wanted.accuracy))
                .query("distance", metres(wanted.distance)).query("once", wanted.isOnce ? "true" : nil))
    }

    /// Metres to a tenth, without an exponent.
    private static func metres(_ value: Double) -> String {
        let tenths = Int64(saturating: (min(max(value, 0), LocationUpdateRequest.longest) * 10).rounded(.up))
        return "\(tenths / 10).\(tenths % 10)"
    }
}
