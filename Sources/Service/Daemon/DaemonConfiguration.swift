import Configuration
package import Foundation
package import Logging
package import NightshiftAPI
import SystemPackage
package import Transfers

/// The configuration that an administrator can set in the environment, or in the file `nightshiftd.env` of the
/// configuration directory.
///
/// The environment takes precedence over the file. Each line of the file is an assignment such as
/// `NIGHTSHIFT_PROXY=http://…`.
package struct DaemonConfiguration: Sendable {
    package var paths: ServicePaths
    package var logLevel: Logger.Level
    /// The proxy for transfers that name none. If it is nil, ``proxyVariables`` apply.
    package var proxy: String?
    /// The proxy variables, such as `http_proxy`, with which an administrator started the service. They are empty if a
    /// client started the service, because its variables are then a part of its own requests.
    package var proxyVariables: ProxyVariables
    /// The TLS settings for transfers that name none.
    package var tls: TLSSettings?
    /// The absolute path of a trace that replaces the real device: `NIGHTSHIFT_DEVICE_TRACE`.
    package var deviceTrace: String?
    package var environment: [String: String]
    package var homeDirectory: URL

    /// Reads the configuration from the environment and the file. The file is optional.
    ///
    /// - Throws: ``DaemonError/configuration(_:)`` if a value is invalid or the file cannot be read.
    package static func read(
        environment: [String: String], homeDirectory: URL
    ) async throws(DaemonError) -> DaemonConfiguration {
        let paths = ServicePaths(environment: environment, homeDirectory: homeDirectory)
        let path = paths.configuration.appending(path: "nightshiftd.env").path
        let file: EnvironmentVariablesProvider
        do {
            file = try await EnvironmentVariablesProvider(environmentFilePath: FilePath(path), allowMissing: true)
        } catch {
            throw .configuration("The configuration file \(path) cannot be read: \(error)")
        }
        return try DaemonConfiguration(environment: environment, homeDirectory: homeDirectory, file: file)
    }

    /// Reads the configuration from the values of its variables.
    ///
    /// - Throws: ``DaemonError/configuration(_:)`` if a value is invalid.
    private init(
        environment: [String: String], homeDirectory: URL, file: EnvironmentVariablesProvider
    ) throws(DaemonError) {
        paths = ServicePaths(environment: environment, homeDirectory: homeDirectory)
        self.environment = environment
        self.homeDirectory = homeDirectory
        let reader = ConfigReader(providers: [EnvironmentVariablesProvider(environmentVariables: environment), file])
            .scoped(to: "nightshift")
        let level = reader.string(forKey: "log.level", default: "info")
        guard let parsed = Logger.Level(rawValue: level.lowercased()) else {
            let known = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
            throw .configuration("NIGHTSHIFT_LOG_LEVEL is '\(level)', but must be one of \(known).")
        }
        logLevel = parsed
        proxy = try Self.proxy(reader.string(forKey: "proxy"))
        proxyVariables =
            environment[ServicePaths.startedByClient] == nil ? ProxyVariables(environment) : .none
        let settings = TLSSettings(
            certificateAuthority: reader.string(forKey: "ca.file"),
            clientCertificate: reader.string(forKey: "client.certificate"),
            clientKey: reader.string(forKey: "client.key"))
        deviceTrace = reader.string(forKey: "device.trace")
        tls = settings == TLSSettings() ? nil : settings
    }

    private static func proxy(_ text: String?) throws(DaemonError) -> String? {
        guard let proxy = text.map(ProxyAddress.spelled) else { return nil }
        if let flaw = ProxyAddress.flaw(of: proxy) {
            throw .configuration("NIGHTSHIFT_PROXY is not valid. \(flaw)")
        }
        return proxy
    }

    /// The network settings for transfers that specify none.
    package var fallback: NetworkFallback {
        NetworkFallback(proxy: proxy, proxyVariables: proxyVariables, tls: tls)
    }

    /// The environment with an absolute path in NIGHTSHIFT_HOME, because apps are started in other directories.
    var absoluteEnvironment: [String: String] {
        var variables = environment
        if let home = variables["NIGHTSHIFT_HOME"], !home.isEmpty {
            variables["NIGHTSHIFT_HOME"] = URL(filePath: home, directoryHint: .isDirectory).absoluteURL.path
        }
        return variables
    }
}
