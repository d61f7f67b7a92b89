public import FoundationNetworking

/// What Apple's configurations have and FoundationNetworking's have not.
///
/// On the base class, so that code which names it compiles. A configuration that is not for the background has no room for
/// these: there, setting one does nothing, and reading it gives its default.
extension URLSessionConfiguration {
    fileprivate var added: ConfigurationAdditions {
        get { (self as? BackgroundConfiguration)?.additions ?? ConfigurationAdditions() }
        set { (self as? BackgroundConfiguration)?.additions = newValue }
    }

    /// Whether the app is resumed or launched when the session's transfers have ended, or one needs an answer. True unless changed.
    public var sessionSendsLaunchEvents: Bool {
        get { added.sessionSendsLaunchEvents }
        set { added.sessionSendsLaunchEvents = newValue }
    }

    /// Whether the session's tasks may use networks that cost by the byte: mobile ones, and those that are marked as metered. True
    /// unless changed.
    public var allowsExpensiveNetworkAccess: Bool {
        get { added.allowsExpensiveNetworkAccess }
        set { added.allowsExpensiveNetworkAccess = newValue }
    }

    /// Whether the session's tasks may use networks that are to carry as little as possible (Apple: Low Data Mode). True unless
    /// changed.
    public var allowsConstrainedNetworkAccess: Bool {
        get { added.allowsConstrainedNetworkAccess }
        set { added.allowsConstrainedNetworkAccess = newValue }
    }

    /// Whether the session's tasks run on external power only. Not Apple's.
    public var requiresExternalPower: Bool {
        get { added.requiresExternalPower }
        set { added.requiresExternalPower = newValue }
    }

    /// Percent of the battery's charge below which the session's tasks wait while there is no external power; 0, the default, is
    /// no limit. Not Apple's.
    public var minimumBattery: Double {
        get { added.minimumBattery }
        set { added.minimumBattery = newValue }
    }

    /// The oldest version of TLS that downloads and uploads speak with a server. TLS 1.2 unless changed; nothing older is ever spoken.
    /// A server that has only older ones is tried again until the resource timeout is over. Data tasks do not heed it.
    public var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t {
        get { added.tlsMinimumSupportedProtocolVersion }
        set { added.tlsMinimumSupportedProtocolVersion = newValue }
    }

    /// The newest version of TLS that downloads and uploads speak with a server. TLS 1.3 unless changed; what is older than 1.2, or than
    /// the oldest one, counts as that. Data tasks do not heed it.
    public var tlsMaximumSupportedProtocolVersion: tls_protocol_version_t {
        get { added.tlsMaximumSupportedProtocolVersion }
        set { added.tlsMaximumSupportedProtocolVersion = newValue }
    }

    /// Kept for source compatibility, without effect: the system's resolver decides.
    public var requiresDNSSECValidation: Bool {
        get { added.requiresDNSSECValidation }
        set { added.requiresDNSSECValidation = newValue }
    }
}

/// Gives configurations back what FoundationNetworking makes unavailable or lets nobody set.
///
/// A protocol, because a member of the class itself by the same name and type breaks optimised builds of whoever imports it: Swift
/// 6.3's compiler cannot tell the two apart in the class's table of methods, and ends.
public protocol ConfigurationReplacements: URLSessionConfiguration {}

extension URLSessionConfiguration: ConfigurationReplacements {}

extension ConfigurationReplacements {
    /// A configuration whose session's transfers go on while the app is suspended or not running: a ``BackgroundConfiguration``.
    ///
    /// - Parameter identifier: unique in the app; the same one connects a later process with the same session. Must not be empty.
    public static func background(withIdentifier identifier: String) -> URLSessionConfiguration {
        BackgroundConfiguration(identifier: identifier)
    }

    /// Where the class's own cannot be set: `String??`, so that reading prefers the class's.
    public var sharedContainerIdentifier: String?? {
        get { .some(added.sharedContainerIdentifier) }
        set { added.sharedContainerIdentifier = newValue ?? nil }
    }

    /// Kept for source compatibility: a background session always waits for connectivity, and no other one here does.
    public var waitsForConnectivity: Bool {
        get { added.waitsForConnectivity }
        set { added.waitsForConnectivity = newValue }
    }

    /// Kept for source compatibility, without effect.
    public var usesClassicLoadingMode: Bool {
        get { added.usesClassicLoadingMode }
        set { added.usesClassicLoadingMode = newValue }
    }

    /// Kept for source compatibility, without effect: the kernel decides about multipath TCP.
    public var multipathServiceType: MultipathService {
        get { added.multipathServiceType }
        set { added.multipathServiceType = newValue }
    }
}

extension ConfigurationReplacements where Self: BackgroundConfiguration {
    /// The same with its own type: `URLSession(configuration: .background(withIdentifier:))` finds it.
    public static func background(withIdentifier identifier: String) -> BackgroundConfiguration {
        BackgroundConfiguration(identifier: identifier)
    }
}

/// The values of `multipathServiceType`; FoundationNetworking has them nested in its configuration, where they are unavailable.
public enum MultipathService: Sendable {
    case none
    case handover
    case interactive
    case aggregate
}
