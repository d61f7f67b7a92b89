public import FoundationNetworking

extension URLSessionConfiguration {
    /// A configuration whose session's transfers go on while the app is suspended or not running.
    ///
    /// Keep the result's own type: annotated as `URLSessionConfiguration` it would no longer reach the initialiser that makes
    /// background sessions, and traps there.
    ///
    /// - Parameter identifier: unique in the app; the same one connects a later process with the same session.
    public class func background(withIdentifier identifier: String) -> BackgroundConfiguration {
        BackgroundConfiguration(identifier: identifier)
    }
}

/// Gives configurations back what FoundationNetworking makes unavailable.
///
/// A protocol, as a member of the class itself by the same name and type breaks optimised builds of whoever imports it: Swift 6.3's
/// compiler cannot tell the two apart in the class's table of methods, and ends.
public protocol WaitingConfiguration: URLSessionConfiguration {}

extension WaitingConfiguration {
    /// Kept for source compatibility: a background session always waits for connectivity, and no other one here does.
    public var waitsForConnectivity: Bool {
        get { (self as? BackgroundConfiguration)?.storedWaitsForConnectivity ?? false }
        set { (self as? BackgroundConfiguration)?.storedWaitsForConnectivity = newValue }
    }
}

extension URLSessionConfiguration: WaitingConfiguration {}
