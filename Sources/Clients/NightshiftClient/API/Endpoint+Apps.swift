package import Foundation
package import NightshiftAPI

extension Endpoint where Answer == AppList {
    package static var apps: Self { Self(.get, APIPath("apps")) }
}

extension Endpoint where Answer == AppStatus {
    package static func install(_ request: InstallRequest) -> Self { Self(.post, APIPath("apps"), request) }

    package static func app(_ id: AppID) -> Self { Self(.get, APIPath("apps", id.rawValue)) }

    package static func changeApp(_ id: AppID, _ change: AppChange) -> Self {
        Self(.patch, APIPath("apps", id.rawValue), change)
    }

    package static func launch(_ id: AppID, _ request: LaunchRequest) -> Self {
        Self(.post, APIPath("apps", id.rawValue, "launch"), request)
    }

    package static func activate(_ id: AppID) -> Self { Self(.post, APIPath("apps", id.rawValue, "activate")) }

    package static func sendToBackground(_ id: AppID) -> Self {
        Self(.post, APIPath("apps", id.rawValue, "background"))
    }

    package static func quit(_ id: AppID, _ request: QuitRequest) -> Self {
        Self(.post, APIPath("apps", id.rawValue, "quit"), request)
    }

    package static func kill(_ id: AppID) -> Self { Self(.post, APIPath("apps", id.rawValue, "kill")) }
}

extension Endpoint where Answer == Void {
    package static func uninstall(_ id: AppID) -> Self { Self(.delete, APIPath("apps", id.rawValue)) }
}

extension Endpoint where Answer == AppExplanation {
    package static func why(_ id: AppID) -> Self { Self(.get, APIPath("apps", id.rawValue, "why")) }
}

extension Endpoint where Answer == Data {
    /// Reads a part of the log of the app.
    package static func log(of id: AppID, after position: Int64, limit: Int) -> Endpoint<Data> {
        Self(bytesAt: APIPath("apps", id.rawValue, "log").query("after", position).query("limit", Int64(limit)))
    }

    /// Reads the latest snapshot of the app as a PNG.
    package static func snapshot(of id: AppID) -> Endpoint<Data> {
        Self(bytesAt: APIPath("apps", id.rawValue, "snapshot"))
    }
}
