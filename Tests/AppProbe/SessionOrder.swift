/// One background session of a probe.
package struct SessionOrder: Sendable, Codable {
    package var identifier: String
    /// Whether the probe also creates the session at background launches. If not, it creates the session there only
    /// when it must handle the session's events.
    package var isMadeAtLaunch = true
    /// The resource timeout in seconds. Nil means the default.
    package var resourceTimeout: Double?
    package var connections: Int?

    package init(_ identifier: String = "main") {
        self.identifier = identifier
    }
}
