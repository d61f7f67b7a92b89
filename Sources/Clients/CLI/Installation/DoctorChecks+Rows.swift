import NightshiftAPI
import NightshiftClient

extension DoctorChecks {
    /// Returns findings about apps and sessions whose stored data cannot be read. The list is empty if all data can be
    /// read.
    func checkRows() async -> [Finding] {
        let client = invocation.service.client
        guard let apps = try? await client.send(.apps), let sessions = try? await client.send(.sessions).sessions else {
            return [.warn("rows", "the service did not list apps and sessions")]
        }
        return Self.rows(apps, sessions)
    }

    static func rows(_ apps: AppList, _ sessions: [SessionStatus]) -> [Finding] {
        let apps = (apps.unreadable ?? []).map { app in
            Finding.warn(
                "rows", "the stored data of the app \(app.id) cannot be read, so the app is not managed: \(app.reason)",
                advice: "Delete this data with: nightshift app remove \(app.id)")
        }
        let sessions = sessions.compactMap { session in
            session.unreadable.map { reason in
                Finding.warn(
                    "rows", "the settings of session \(session.id) cannot be read, so the defaults are used: \(reason)",
                    advice: "The creator of the session can set them again: PUT /v1/sessions/\(session.id)")
            }
        }
        return apps + sessions
    }
}
