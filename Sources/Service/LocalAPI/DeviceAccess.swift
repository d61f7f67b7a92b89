package import NightshiftAPI

/// The operations on the device that the API offers. The `Daemon` module implements them.
package struct DeviceAccess: Sendable {
    package var status: @Sendable () async -> DeviceStatus
    package var change: @Sendable (DeviceChange) async throws -> DeviceStatus
    package var request: @Sendable (DozePhase) async throws -> DeviceStatus

    /// Creates a value from the operations. Every closure throws only ``Problem``.
    package init(
        status: @escaping @Sendable () async -> DeviceStatus,
        change: @escaping @Sendable (DeviceChange) async throws -> DeviceStatus,
        request: @escaping @Sendable (DozePhase) async throws -> DeviceStatus
    ) {
        self.status = status
        self.change = change
        self.request = request
    }
}
