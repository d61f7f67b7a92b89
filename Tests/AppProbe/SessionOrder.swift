/// One background session of a probe.
package struct SessionOrder: Sendable, Codable {
    package var identifier: String
    /// Whether it is made at background launches too, or there only when the app is asked to handle its events.
    package var isMadeAtLaunch = true
    /// Seconds; nil leaves the default.
    package var resourceTimeout: Double?
    package var connections: Int?

    package init(_ identifier: String = "main") {
        self.identifier = identifier
    }
}
