import Foundation
import TestSupport

/// Ends every process that the service of one home has started. Apps outlive their service and start it again.
struct ProcessSweep {
    let home: String

    /// Kills the service, and then repeatedly kills every process of the home.
    ///
    /// - Parameter first: the process of the service.
    func sweep(first service: ChildProcess?) {
        service?.kill(SIGCONT)
        service?.kill(SIGKILL)
        _ = service?.blockUntilExit(within: .seconds(5))
        // A process that is just being started is not visible yet.
        for _ in 0..<20 {
            let found = processes
            if found.isEmpty { return }
            for pid in found { kill(pid, SIGKILL) }
            blockThread(for: .milliseconds(10), because: "No event reports a process that is being started.")
        }
    }

    private var processes: [Int32] {
        let word = Array("NIGHTSHIFT_HOME=\(home)\0".utf8)
        return ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { Int32($0) }
            .filter { pid in
                guard pid != getpid(), let environment = try? fileBytes("/proc/\(pid)/environ") else { return false }
                return Data(environment + [0]).range(of: Data(word)) != nil && LiveProcess(pid).isAlive
            }
    }
}
