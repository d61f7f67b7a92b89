import Foundation
import Glibc
import Logging
import NightshiftAPI
import ServiceLog
import Store
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
            ServiceLog.bootstrap()
            var logger = Logger(label: "nightshiftd")
            logger.logLevel = configuration.logLevel
            let daemon = try Daemon(configuration, descriptors: descriptors, logger: logger)
            daemon.transfers.starts.catchFaults()
            try await daemon.run()
            return 0
        } catch {
            return report(error)
        }
    }

    /// Checks whether the service could start: its configuration, its directories and its database. Changes nothing.
    ///
    /// - Returns: The exit status that a start would have.
    package static func check() async -> Int32 {
        do {
            let configuration = try await DaemonConfiguration.read(
                environment: ServiceEnvironment.atStart,
                homeDirectory: FileManager.default.homeDirectoryForCurrentUser)
            try HomeDirectories.check(configuration.paths)
            do throws(StoreError) {
                try Store.check(configuration.paths)
            } catch {
                throw DaemonError.store(error.message)
            }
            return 0
        } catch {
            return report(error)
        }
    }

    private static func report(_ error: any Error) -> Int32 {
        ServiceLog.fail("nightshiftd: \(error)")
        return (error as? DaemonError)?.exitStatus ?? 1
    }
}
