import NightshiftAPI
import NightshiftClient

/// An app's background refresh, remote notifications and use of the location.
struct AppBackground {
    var refresh: AppRefreshStatus?
    var push: AppPushStatus?
    var location: AppLocationStatus?
}

/// The JSON of an app with the members of its ``AppBackground``: `refresh`, `push` and `location`.
struct WithBackground<Value: Encodable>: Encodable {
    var value: Value
    var background: AppBackground

    private enum CodingKeys: String, CodingKey {
        case refresh
        case push
        case location
    }

    func encode(to encoder: any Encoder) throws {
        try value.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(background.refresh, forKey: .refresh)
        try container.encodeIfPresent(background.push, forKey: .push)
        try container.encodeIfPresent(background.location, forKey: .location)
    }
}

extension Invocation {
    func background(of app: AppID) async throws -> AppBackground {
        AppBackground(
            refresh: try await fetchIfThere(.refresh(of: app)), push: try await fetchIfThere(.push(of: app)),
            location: try await fetchIfThere(.location(of: app)))
    }

    /// Returns the lines about background refresh, notifications and location, which follow the other lines about an
    /// app.
    func lines(_ background: AppBackground) -> [String] {
        (background.refresh.map { appRefreshReport.section($0) } ?? [])
            + (background.push.map { pushReport.section($0) } ?? [])
            + (background.location.map { appLocationReport.section($0) } ?? [])
    }

    /// Fetches a response, or returns nil if the feature does not apply to the app, such as a program without a desktop
    /// entry.
    private func fetchIfThere<Answer>(_ question: Endpoint<Answer>) async throws -> Answer? {
        do {
            return try await service.fetch(question)
        } catch let problem as Problem where problem.status == 404 {
            return nil
        }
    }
}
