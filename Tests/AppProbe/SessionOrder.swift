/// One background session of a probe.
package struct SessionOrder: Sendable, Codable {
    package var identifier: String
    /// Whether the session is also made at background launches. If not, it is made there only when the app must handle
    /// its events.
    package var isMadeAtLaunch = true
    /// The resource timeout in seconds. Nil means the default.
    package var resourceTimeout: Double?
    package var connections: Int?

    package init(_ identifier: String = "main") {
        self.identifier = identifier
    }
}
