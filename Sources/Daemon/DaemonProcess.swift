import Foundation
import Glibc
import Logging
import NightshiftAPI
import Transfers

/// The process of a ``Daemon``, with the settings that are made once for the whole process.
package enum DaemonProcess {
    package static let version = NightshiftVersion.current

    /// Serves until it is asked to stop.
    ///
    /// - Returns: The exit status.
    package static func run() async -> Int32 {
        signal(SIGPIPE, SIG_IGN)
        // A write beyond a file size limit is an error of the transfer and must not end the service.
        signal(SIGXFSZ, SIG_IGN)
        FreeMemory.bound()
        do {
            try InheritedLimits.raise()
            let descriptors = try DescriptorLimit.raise()
            let configuration = try await DaemonConfiguration.read(
                environment: ServiceEnvironment.atStart,
                homeDirectory: FileManager.default.homeDirectoryForCurrentUser)
            LoggingSystem.bootstrap { StreamLogHandler.standardError(label: $0) }
            var logger = Logger(label: "nightshiftd")
            logger.logLevel = configuration.logLevel
            let daemon = try Daemon(configuration, descriptors: descriptors, logger: logger)
            daemon.transfers.starts.catchFaults()
            try await daemon.run()
            return 0
        } catch let error as DaemonError {
            try? FileHandle.standardError.write(contentsOf: Data("nightshiftd: \(error)\n".utf8))
            return error.exitStatus
        } catch {
            try? FileHandle.standardError.write(contentsOf: Data("nightshiftd: \(error)\n".utf8))
            return 1
        }
    }
}
