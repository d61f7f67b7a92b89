package import NightshiftAPI

extension Endpoint where Answer == DeviceStatus {
    package static var device: Self { Self(.get, APIPath("device")) }

    package static func changeDevice(_ change: DeviceChange) -> Self { Self(.patch, APIPath("device"), change) }

    /// Requests a phase of doze.
    package static func doze(_ request: DozeRequest) -> Self { Self(.post, APIPath("device", "doze"), request) }
}
