import Foundation
import Glibc
import Logging
import NightshiftAPI
import Transfers

/// The process around a ``Daemon``: what is done once for all of it.
package enum DaemonProcess {
    package static let version = NightshiftVersion.current

    /// Serves until asked to stop.
    ///
    /// - Returns: the exit status.
    package static func run() async -> Int32 {
        signal(SIGPIPE, SIG_IGN)
        raiseDescriptorLimit()
        FreeMemory.bound()
        do {
            let configuration = try await DaemonConfiguration.read(
                environment: ProcessInfo.processInfo.environment,
                homeDirectory: FileManager.default.homeDirectoryForCurrentUser)
            LoggingSystem.bootstrap { StreamLogHandler.standardError(label: $0) }
            var logger = Logger(label: "nightshiftd")
            logger.logLevel = configuration.logLevel
            let daemon = try Daemon(configuration, logger: logger)
            daemon.transfers.starts.catchFaults()
            try await daemon.run()
            return 0
        } catch let error as DaemonError {
            FileHandle.standardError.write(Data("nightshiftd: \(error)\n".utf8))
            return error.exitStatus
        } catch {
            FileHandle.standardError.write(Data("nightshiftd: \(error)\n".utf8))
            return 1
        }
    }

    /// Every transfer has a socket and a file: the usual soft limit of 1024 is for programs that use select(2).
    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
