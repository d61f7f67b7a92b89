import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import Clock
import Foundation
import Glibc
import NightshiftAPI
import Store

/// Commands that somebody runs as background work: `nightshift task run`.
extension AppService {
    /// Takes a child of the caller for an app of its own, and lets the caller hear of it.
    ///
    /// It stays limited when the caller is gone, until it ends.
    func connect(
        runner pid: Int32, of child: Int32, _ executable: String?
    ) async throws(Problem) -> AsyncStream<ProcessEvent> {
        let process = try Self.child(child, of: pid, bootID: now.bootID)
        // Whether it has begun its program yet, the caller knows better.
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
            // Before anything is waited for, so that the program's end finds it.
            machines[id] = machine(id)
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

    /// Nobody can have a process limited that is not its own child and does not lead its group.
    private static func child(_ child: Int32, of parent: Int32, bootID: String) throws(Problem) -> ProcessIdentity {
        guard let statistics = ProcessStatistics(of: child), !statistics.isZombie,
            let process = ProcessIdentity.of(child, bootID: bootID)
        else { throw .conflict("There is no process \(child).") }
        guard statistics.parent == parent else {
            throw .forbidden("Process \(child) is not a child of the calling process.")
        }
        guard statistics.group == child else {
            throw .invalid("Process \(child) does not lead a process group of its own.", pointer: "/run")
        }
        var information = stat()
        guard stat("/proc/\(child)", &information) == 0, information.st_uid == getuid() else {
            throw .forbidden("Process \(child) belongs to another user.")
        }
        return process
    }
}
