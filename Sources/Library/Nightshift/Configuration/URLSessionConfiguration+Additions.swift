public import FoundationNetworking

/// Properties that Apple's configurations have and FoundationNetworking's lack.
///
/// The properties are declared on the base class so that code that uses them compiles. Only a background configuration
/// stores their values. On any other configuration, setting a property does nothing, and reading it returns its
/// default.
extension URLSessionConfiguration {
    fileprivate var added: ConfigurationAdditions {
        get { (self as? BackgroundConfiguration)?.additions ?? ConfigurationAdditions() }
        set { (self as? BackgroundConfiguration)?.additions = newValue }
    }

    /// Whether the service resumes or launches the app when the session's transfers have ended, or when a transfer
    /// needs an answer. The default is true.
    public var sessionSendsLaunchEvents: Bool {
        get { added.sessionSendsLaunchEvents }
        set { added.sessionSendsLaunchEvents = newValue }
    }

    /// Whether the session's tasks may use networks that charge by the byte: mobile networks, and networks marked as
    /// metered. The default is true.
    public var allowsExpensiveNetworkAccess: Bool {
        get { added.allowsExpensiveNetworkAccess }
        set { added.allowsExpensiveNetworkAccess = newValue }
    }

    /// Whether the session's tasks may use networks in data saver mode (Apple: Low Data Mode). The default is true.
    public var allowsConstrainedNetworkAccess: Bool {
        get { added.allowsConstrainedNetworkAccess }
        set { added.allowsConstrainedNetworkAccess = newValue }
    }

    /// Whether the session's tasks run on external power only. The default is false. Apple has no such property.
    public var requiresExternalPower: Bool {
        get { added.requiresExternalPower }
        set { added.requiresExternalPower = newValue }
    }

    /// The minimum battery charge in percent. If the charge is lower and the device has no external power, the
    /// session's tasks wait. The default is 0, which means no limit. Apple has no such property.
    public var minimumBattery: Double {
        get { added.minimumBattery }
        set { added.minimumBattery = newValue }
    }

    /// The oldest version of TLS that downloads and uploads use. The default is TLS 1.2; older versions are never used.
    /// If a server supports only older versions, the transfer is retried until its resource timeout ends. Data tasks
    /// ignore this property.
    public var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t {
        get { added.tlsMinimumSupportedProtocolVersion }
        set { added.tlsMinimumSupportedProtocolVersion = newValue }
    }

    /// The newest version of TLS that downloads and uploads use. The default is TLS 1.3. A value below TLS 1.2 counts
    /// as TLS 1.2, and a value below the minimum counts as the minimum. Data tasks ignore this property.
    public var tlsMaximumSupportedProtocolVersion: tls_protocol_version_t {
        get { added.tlsMaximumSupportedProtocolVersion }
        set { added.tlsMaximumSupportedProtocolVersion = newValue }
    }

    /// A property for source compatibility. It has no effect, because the system's resolver controls DNSSEC validation.
    public var requiresDNSSECValidation: Bool {
        get { added.requiresDNSSECValidation }
        set { added.requiresDNSSECValidation = newValue }
    }
}

/// Members that FoundationNetworking makes unavailable or read-only.
///
/// They are declared in a protocol because of a fault in Swift 6.3's compiler. If the class itself had a member with
/// the same name and type, the compiler would confuse the two members in the class's method table. The compiler would
/// then crash in optimised builds of code that imports the class.
public protocol ConfigurationReplacements: URLSessionConfiguration {}

extension URLSessionConfiguration: ConfigurationReplacements {}

extension ConfigurationReplacements {
    /// Returns a ``BackgroundConfiguration``. The transfers of a background session continue while the app is suspended
    /// or not running.
    ///
    /// - Parameter identifier: The session's name, unique in the app. It must not be empty. A later process that uses
    ///   the same name connects to the same session.
    public static func background(withIdentifier identifier: String) -> URLSessionConfiguration {
        BackgroundConfiguration(identifier: identifier)
    }

    /// A replacement for the class's own property, which cannot be set in some code. The type is `String??` so that
    /// reading prefers the class's property.
    public var sharedContainerIdentifier: String?? {
        get { .some(added.sharedContainerIdentifier) }
        set { added.sharedContainerIdentifier = newValue ?? nil }
    }

    /// A property for source compatibility. Background sessions always wait for connectivity. On Linux, other sessions
    /// never wait.
    public var waitsForConnectivity: Bool {
        get { added.waitsForConnectivity }
        set { added.waitsForConnectivity = newValue }
    }

    /// A property for source compatibility. It has no effect.
    public var usesClassicLoadingMode: Bool {
        get { added.usesClassicLoadingMode }
        set { added.usesClassicLoadingMode = newValue }
    }

    /// A property for source compatibility. It has no effect, because the kernel controls multipath TCP.
    public var multipathServiceType: MultipathService {
        get { added.multipathServiceType }
        set { added.multipathServiceType = newValue }
    }
}

extension ConfigurationReplacements where Self: BackgroundConfiguration {
    /// Returns a configuration under its concrete type, for `URLSession(configuration: .background(withIdentifier:))`.
    public static func background(withIdentifier identifier: String) -> BackgroundConfiguration {
        BackgroundConfiguration(identifier: identifier)
    }
}

/// The values of `multipathServiceType`. This type replaces the type that FoundationNetworking nests in its
/// configuration and makes unavailable.
public enum MultipathService: Sendable {
    case none
    case handover
    case interactive
    case aggregate
}
