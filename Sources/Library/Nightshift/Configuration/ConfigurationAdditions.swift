import FoundationNetworking

/// The properties of a background configuration that FoundationNetworking's class lacks, with their defaults.
struct ConfigurationAdditions: Sendable {
    var sessionSendsLaunchEvents = true
    var sharedContainerIdentifier: String?
    var allowsExpensiveNetworkAccess = true
    var allowsConstrainedNetworkAccess = true
    var requiresExternalPower = false
    var minimumBattery: Double = 0
    var tlsMinimumSupportedProtocolVersion = tls_protocol_version_t.TLSv12
    var tlsMaximumSupportedProtocolVersion = tls_protocol_version_t.TLSv13
    // The following values have no effect. They are stored so that reading a property returns the value that was set.
    var waitsForConnectivity = false
    var requiresDNSSECValidation = false
    var usesClassicLoadingMode = false
    var httpShouldUsePipelining = false
    var shouldUseExtendedBackgroundIdleMode = false
    var multipathServiceType = MultipathService.none
}
