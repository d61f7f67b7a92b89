import CSystemd
import Glibc
import NightshiftAPI
import ServiceLifecycle

/// The service of the group that notifies systemd that the service is ready, alive, or stopping. It does nothing
/// without systemd.
struct ServiceManager: Service {
    /// Returns whether systemd started this process as the main process of a unit. A process that was started by another
    /// one has inherited the variables, with the other one's process id.
    static func hasStartedThis(_ environment: [String: String]) -> Bool {
        ["SYSTEMD_EXEC_PID", "LISTEN_PID"].contains { environment[$0] == "\(getpid())" }
    }

    static func ready() {
        sd_notify(0, "READY=1\nSTATUS=Serving.")
    }

    func run() async throws {
        var interval: UInt64 = 0
        if sd_watchdog_enabled(0, &interval) > 0 {
            // The pause is half of the requested interval, as sd_watchdog_enabled(3) recommends.
            let pause = Duration.microseconds(Int64(interval / 2))
            await cancelWhenGracefulShutdown {
                while (try? await Task.sleep(for: pause)) != nil { sd_notify(0, "WATCHDOG=1") }
            }
        } else {
            try? await gracefulShutdown()
        }
        sd_notify(0, "STOPPING=1")
    }
}
