import Configuration
package import Foundation
package import Logging
package import NightshiftAPI
import SystemPackage

/// What an operator can set, in the environment or in the file `nightshiftd.env` of the configuration directory.
///
/// The environment wins over the file. Keys in the file are written as in the environment: `NIGHTSHIFT_PROXY=http://…`.
package struct DaemonConfiguration: Sendable {
    package var paths: ServicePaths
    package var logLevel: Logger.Level
    /// For tasks that name no proxy; nil leaves it to `http_proxy` and its like.
    package var proxy: String?
    /// For tasks that name no TLS settings.
    package var tls: TLSSettings?
    /// The absolute path of a trace that is played in place of what the device says: `NIGHTSHIFT_DEVICE_TRACE`.
    package var deviceTrace: String?
    package var environment: [String: String]
    package var homeDirectory: URL

    /// What the environment and the file say; where there is no file, the environment alone.
    ///
    /// - Throws: ``DaemonError/configuration(_:)`` for a value that cannot be, and for a file that cannot be read.
    package static func read(
        environment: [String: String], homeDirectory: URL
    ) async throws(DaemonError) -> DaemonConfiguration {
        let paths = ServicePaths(environment: environment, homeDirectory: homeDirectory)
        let path = paths.configuration.appending(path: "nightshiftd.env").path
        let file: EnvironmentVariablesProvider
        do {
            file = try await EnvironmentVariablesProvider(environmentFilePath: FilePath(path), allowMissing: true)
        } catch {
            throw .configuration("The configuration \(path) cannot be read: \(error)")
        }
        return try DaemonConfiguration(environment: environment, homeDirectory: homeDirectory, file: file)
    }

    /// - Throws: ``DaemonError/configuration(_:)`` for a value that cannot be.
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
            throw .configuration("NIGHTSHIFT_LOG_LEVEL is '\(level)'; it is one of \(known).")
        }
        logLevel = parsed
        proxy = reader.string(forKey: "proxy")
        let settings = TLSSettings(
            certificateAuthority: reader.string(forKey: "ca.file"),
            clientCertificate: reader.string(forKey: "client.certificate"),
            clientKey: reader.string(forKey: "client.key"))
        deviceTrace = reader.string(forKey: "device.trace")
        tls = settings == TLSSettings() ? nil : settings
    }

    /// The environment, with the home made absolute: apps are started in other directories.
    var absoluteEnvironment: [String: String] {
        var variables = environment
        if let home = variables["NIGHTSHIFT_HOME"], !home.isEmpty {
            variables["NIGHTSHIFT_HOME"] = URL(filePath: home, directoryHint: .isDirectory).absoluteURL.path
        }
        return variables
    }
}
