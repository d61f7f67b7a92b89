import Foundation
import Glibc
package import NightshiftAPI
import Store

/// What the processes of apps say, and what becomes of them.
extension AppService {
    /// The commands for the calling process, beginning with who it is taken for. The stream's end disconnects it.
    ///
    /// - Parameters:
    ///   - executable: the caller's program, where the kernel does not tell.
    ///   - app: what the caller says it is; it is believed where that is an installed app.
    package func connect(
        process pid: Int32, executable: String?, app claimed: AppID?
    ) async throws(Problem) -> AsyncStream<ProcessEvent> {
        guard !isStopping else { throw .unavailable("The service is stopping.") }
        guard let process = ProcessIdentity.of(pid, bootID: now.bootID) else {
            throw .conflict("There is no process \(pid).")
        }
        let id = app(of: process, executable: executable, claimed: claimed)
        let owner = machines[id]?.record.process.map { ProcessIdentity($0) }
        // A script that starts the real program leads the session that both are in.
        let isGuest = owner.map { $0 != process && getsid(pid) != $0.pid && $0.isAlive } ?? false
        let (stream, continuation) = AsyncStream<ProcessEvent>.makeStream()
        nextConnection += 1
        let number = nextConnection
        connections[pid]?.continuation.finish()
        connections[pid] = Connection(number: number, app: id, isGuest: isGuest, continuation: continuation)
        continuation.onTermination = { [reporting] _ in
            reporting.yield { await $0.disconnected(pid, number) }
        }
        let machine = machine(id)
        var hello = ProcessHello(
            app: id, isInstalled: machine.isInstalled, isManaged: machine.isManaged && !isGuest,
            state: isGuest ? .active : machine.record.state)
        // Who starts in the foreground becomes active only after it has said hello.
        if !isGuest, !machine.hasConnected, hello.state == .active || hello.state == .notRunning {
            hello.state = .inactive
        }
        continuation.yield(.hello(hello))
        if !isGuest {
            if owner == nil { _ = environment.host.adopt(process) }
            let stored = StoredProcess(process, isManaged: false)
            await perform(id) { $0.connected(stored, now: $1) }
        }
        return stream
    }

    /// The app that a connected process belongs to.
    package func app(ofProcess pid: Int32) throws(Problem) -> AppID {
        guard let connection = connections[pid] else {
            throw .notConnected("Process \(pid) has to read /v1/process/commands first.")
        }
        return connection.app
    }

    /// The app has done what a command asked.
    package func acknowledge(process pid: Int32, command: Int64) async throws(Problem) {
        let id = try app(ofProcess: pid)
        guard connections[pid]?.isGuest == false else { return }
        await lookAgain(id)
        await perform(id) { $0.acknowledged(command, now: $1) }
    }

    /// The app came to the front or left it, by its own word.
    package func change(process pid: Int32, to state: AppState) async throws(Problem) {
        guard state == .active || state == .inactive || state == .background else {
            throw .invalid("An app can become active, inactive or background.", pointer: "/state")
        }
        let id = try app(ofProcess: pid)
        guard connections[pid]?.isGuest == false else { return }
        await lookAgain(id)
        await perform(id) { $0.changed(to: state, now: $1) }
    }

    /// The picture that stands for the app while it is not seen: PNG.
    package func putSnapshot(process pid: Int32, _ png: [UInt8]) async throws(Problem) {
        let id = try app(ofProcess: pid)
        do {
            try Data(png).write(to: URL(filePath: path(id, "png")), options: .atomic)
        } catch {
            throw .unavailable("The snapshot could not be kept: \(error.localizedDescription)")
        }
        let now = now
        await perform(id) { machine, _ in
            machine.record.snapshotTakenAt = now.wallSeconds
            return []
        }
    }

    /// Throws where the app's entry does not let it be launched for the events of sessions.
    package func mayKeepSessions(_ app: AppID, launchEvents: Bool) throws(Problem) {
        guard launchEvents, let manifest = manifest(app), !manifest.modes.contains(.transfer) else { return }
        throw .invalid(
            "\(app) does not declare the background mode 'transfer', so it cannot be launched for session events. Add "
                + "'transfer' to X-Nightshift-BackgroundModes in \(manifest.entry), or set sessionSendsLaunchEvents to "
                + "false.", pointer: "/sessionSendsLaunchEvents")
    }

    /// Throws where nobody can hand over tasks for the app: it is not installed, or not to be launched for them.
    package func mayBeGivenTasks(_ app: AppID) throws(Problem) {
        try requireEntry(app)
        try mayKeepSessions(app, launchEvents: true)
    }

    /// Seconds for which tasks that the app adds now do not start; nil where they may.
    package func startDelay(_ app: AppID) -> Double? {
        guard let until = machines[app]?.startsPausedUntil(now: now) else { return nil }
        return until - now.wallSeconds
    }

    func disconnected(_ pid: Int32, _ number: Int) async {
        guard let connection = connections[pid], connection.number == number else { return }
        connections[pid] = nil
        guard !connection.isGuest else { return }
        await perform(connection.app) { machine, _ in
            machine.disconnected()
            return []
        }
    }

    func exited(_ process: ProcessIdentity, _ end: ProcessEnd) async {
        let found = machines.first { $0.value.record.process.map { ProcessIdentity($0) } == process }
        guard let (id, machine) = found else { return }
        var exit = AppExit(time: now.date, cause: .exited)
        switch end {
        case .exited(let status):
            exit.status = status
            if status != 0 { exit.cause = .failed }
        case .signalled(let signal):
            exit.signal = signal
            exit.cause = .signalled
        case .unknown: if machine.isManaged { exit.cause = .unseen }
        }
        // Also those of children that outlive it: a new process of the app is not to be mistaken for them.
        for (pid, connection) in connections where connection.app == id && !connection.isGuest {
            connection.continuation.finish()
            connections[pid] = nil
        }
        // Its next process reads again, though this one may have ended suspended.
        await environment.transfers.setListening(id, true)
        // What it handled last is nothing to launch it for.
        await lookAgain(id)
        await perform(id) { $0.exited(exit, now: $1) }
        if id.isProgram { machines[id] = nil }
        for waiter in endWaiters.removeValue(forKey: id) ?? [] { waiter.resume() }
        await look()
    }

    private func app(of process: ProcessIdentity, executable: String?, claimed: AppID?) -> AppID {
        let session = getsid(process.pid)
        let launched = machines.first { _, machine in
            guard let leader = machine.record.process, leader.isManaged else { return false }
            return leader.processID == process.pid || leader.processID == session
        }
        if let launched { return launched.key }
        if let claimed, manifest(claimed) != nil { return claimed }
        let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process.pid)/exe")
        let program = link ?? executable ?? "/proc/\(process.pid)/exe"
        return environment.entries.app(ofExecutable: program)?.id ?? AppID(rawValue: program)
    }
}
