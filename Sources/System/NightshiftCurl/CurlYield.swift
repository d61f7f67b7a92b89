package import NightshiftAPI

/// The wish that an exchange yields to other traffic.
package struct CurlYield: Sendable {
    /// The route to the server. Exchanges of the same route share one window.
    package var route: String
    /// A closure that receives each change of the exchange's state, for display; nil when the exchange no longer yields.
    package var show: @Sendable (YieldStatus?) -> Void

    package init(route: String, show: @escaping @Sendable (YieldStatus?) -> Void) {
        self.route = route
        self.show = show
    }
}
