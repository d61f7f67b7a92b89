import CDispatch  // for stat(2), which the compiler attributes to CDispatch wherever that module is loaded
import Clock
import Foundation
import Glibc
import NightshiftAPI
import Store

/// Commands that `nightshift task run` runs as background work.
extension AppService {
    /// Treats a child process of the caller as a separate app, and sends the caller the events for it.
    ///
    /// The command's limits apply until it ends, even if the caller ends first.
    func connect(
        runner pid: Int32, of child: Int32, _ executable: String?
    ) async throws(Problem) -> AsyncStream<ProcessEvent> {
        let process = try Self.child(child, of: pid, bootID: now.bootID)
        // The kernel may still report the program of the parent. Only the caller knows which program the child will
        // execute.
        let program =
            executable.flatMap { $0.hasPrefix("/") ? $0 : nil }
            ?? (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(child)/exe"))
            ?? "/proc/\(child)/exe"
        let known = machines.app(of: process)
        let id = known ?? AppID(rawValue: "\(program)#\(child)")
        let isNew = known == nil
        try requireReadable(id)
        if isNew {
            guard environment.host.adopt(process) else { throw .conflict("Process \(child) has ended.") }
        }
        let stream = open(pid, id, isGuest: false, isRunner: true)
        if isNew {
            let stored = StoredProcess(process, isManaged: true)
            await perform(id) { $0.adoptedCommand(stored, now: $1) }
        }
        var hello = ProcessHello(
            app: id, isInstalled: false, isManaged: true, state: machines[id]?.record.state ?? .notRunning)
        hello.clock = clocks[id]?.path
        hello.channel = connections[pid]?.name
        connections[pid]?.continuation.yield(.hello(hello))
        return stream
    }

    /// Returns the identity of the process to limit. It must be a child of the caller and lead its own process group.
    private static func child(_ child: Int32, of parent: Int32, bootID: String) throws(Problem) -> ProcessIdentity {
        guard let statistics = ProcessStatistics(of: child), !statistics.isZombie,
            let process = ProcessIdentity.of(child, bootID: bootID)
        else { throw .conflict("Process \(child) does not exist.") }
        guard statistics.parent == parent else {
            throw .forbidden("Process \(child) is not a child of the calling process.")
        }
        guard statistics.group == child else {
            throw .invalid("Process \(child) is not the leader of a process group.", pointer: "/run")
        }
        var information = stat()
        guard stat("/proc/\(child)", &information) == 0, information.st_uid == getuid() else {
            throw .forbidden("Process \(child) belongs to another user.")
        }
        return process
    }
}
