import Clock
import Foundation
import Glibc
package import NightshiftAPI
import Runtime
import Store

/// The connections and exits of the apps' processes.
extension AppService {
    /// Opens the command stream of the calling process. Its first element says which app the service considers the
    /// caller to be. When the stream ends, the process counts as disconnected.
    ///
    /// - Parameters:
    ///   - executable: the caller's program, for the case that the kernel does not report it. With `run`, this is the
    ///     program to run.
    ///   - app: the app that the caller claims to be. The claim is trusted if that app is installed.
    ///   - child: a child of the caller that leads a process group, to be limited as background work. If the caller
    ///     belongs to an app, it becomes a secondary process of that app instead.
    ///   - asGuest: whether the caller is a secondary process, which receives only `expire`.
    package func connect(
        process pid: Int32, executable: String?, app claimed: AppID?, run child: Int32? = nil, asGuest: Bool = false
    ) async throws(Problem) -> AsyncStream<ProcessEvent> {
        // The app of the process may change while the other features answer, so it is determined again afterwards.
        var answer: (app: AppID, notices: [ProcessEvent])?
        var found: (process: ProcessIdentity, app: AppID)?
        while found == nil {
            guard !isStopping else { throw .unavailable("The service is stopping.") }
            guard let process = ProcessIdentity.of(pid, bootID: now.bootID) else {
                throw .conflict("Process \(pid) does not exist.")
            }
            let launched = launchedApp(of: process)
            if let child, launched == nil { return try await connect(runner: pid, of: child, executable) }
            let app = launched ?? app(of: process, executable: executable, claimed: claimed)
            if answer?.app == app { found = (process, app) } else { answer = (app, await notices(of: app)) }
        }
        guard let (process, id) = found else { throw .unavailable("The service is stopping.") }
        try requireReadable(id)
        let owner = machines[id]?.record.process.map { ProcessIdentity($0) }
        // The process may also be the real program, started by a wrapper script. The script leads the session and does
        // not report for the app.
        let isStranger =
            owner.map {
                $0 != process && $0.isAlive && (getsid(pid) != $0.pid || isSpokenFor(id, besides: pid))
            } ?? false
        let isGuest = isStranger || child != nil || asGuest
        if owner == nil, !isGuest, !environment.host.adopt(process) {
            // Without this watch, the service would not notice the end of the process, and would treat the app as
            // running until the service itself ends.
            guard process.isAlive else { throw .conflict("Process \(pid) has ended.") }
            throw .unavailable("The service could not watch for the end of process \(pid).")
        }
        let stream = open(pid, id, isGuest: isGuest)
        let machine = machine(id)
        var hello = ProcessHello(
            app: id, isInstalled: machine.isInstalled, isManaged: machine.isManaged && !isGuest,
            state: isGuest ? .active : machine.record.state)
        // An app that starts in the foreground becomes active only after its process has connected.
        if !isGuest, !machine.hasConnected, hello.state == .active || hello.state == .notRunning {
            hello.state = .inactive
        }
        hello.clock = clocks[id]?.path
        hello.channel = connections[pid]?.name
        connections[pid]?.continuation.yield(.hello(hello))
        for notice in answer?.notices ?? [] { connections[pid]?.continuation.yield(notice) }
        if !isGuest {
            let stored = StoredProcess(process, isManaged: false)
            await perform(id) { $0.connected(stored, now: $1) }
            // A window of the app may have had the focus before its process connected.
            if front.app == id { await followFront() }
        }
        return stream
    }

    /// Whether a living process other than the given one has the app's command stream open.
    private func isSpokenFor(_ id: AppID, besides pid: Int32? = nil) -> Bool {
        connections.contains { other, connection in
            other != pid && connection.app == id && !connection.isGuest && !connection.isRunner
                && ProcessIdentity.of(other, bootID: now.bootID)?.isAlive == true
        }
    }

    /// Opens a new stream for a process and ends its older one.
    func open(_ pid: Int32, _ id: AppID, isGuest: Bool, isRunner: Bool = false) -> AsyncStream<ProcessEvent> {
        let (stream, continuation) = AsyncStream<ProcessEvent>.makeStream()
        nextConnection += 1
        let number = nextConnection
        connections[pid]?.continuation.finish()
        if let old = connections[pid], !old.isGuest { endPresentations(of: old.app) }
        connections[pid] = Connection(
            number: number, app: id, isGuest: isGuest, isRunner: isRunner, continuation: continuation)
        continuation.onTermination = { [reporting] _ in
            reporting.yield { await $0.disconnected(pid, number) }
        }
        return stream
    }

    /// Returns the identity of a connected process.
    ///
    /// - Parameter channel: the name of the stream that the caller believes is open. If the process has another stream
    ///   now, the request was meant for the earlier stream and is refused. For example, a request may reach a later run
    ///   of the service than the one it was meant for. In that run, the same number means another command, and the
    ///   process has yet to report its open background tasks.
    package func connectedProcess(_ pid: Int32, channel: String? = nil) throws(Problem) -> ConnectedProcess {
        guard channel == nil || connections[pid]?.name == channel else {
            throw .notConnected("Process \(pid) no longer has this stream of /v1/process/commands.")
        }
        guard let connection = connections[pid] else {
            throw .notConnected("Process \(pid) must open /v1/process/commands first.")
        }
        return ConnectedProcess(processID: pid, app: connection.app, isGuest: connection.isGuest)
    }

    /// Returns the app that a connected process belongs to.
    package func app(ofProcess pid: Int32, channel: String? = nil) throws(Problem) -> AppID {
        try connectedProcess(pid, channel: channel).app
    }

    /// Handles an app's acknowledgement of a command.
    ///
    /// - Parameters:
    ///   - result: the result of a wake; ``RefreshResult/newData`` by default.
    ///   - presentation: the parts of a notification to present; nil for all parts that the notification has.
    package func acknowledge(
        process pid: Int32, channel: String? = nil, command: Int64, result: RefreshResult? = nil,
        presentation: Int? = nil
    ) async throws(Problem) {
        let id = try app(ofProcess: pid, channel: channel)
        if let presentation, !CommandAcknowledgement.presentations.contains(presentation) {
            throw .invalid(
                "A presentation must be a sum of the options 1, 2, 4, 8 and 16, not \(presentation).",
                pointer: "/presentation")
        }
        guard isOwn(pid) else { return }
        let answer = presentation.map { PresentationAnswer.options($0) } ?? .asSent
        if endPresentation(Presentation.Key(app: id, command: command), answer) { return }
        await refreshWantedWakes(of: id)
        await perform(id) { $0.acknowledged(command, result: result ?? .newData, now: $1) }
    }

    /// Handles an app's report that it came to the foreground or left it.
    package func change(process pid: Int32, channel: String? = nil, to state: AppState) async throws(Problem) {
        guard state == .active || state == .inactive || state == .background else {
            throw .invalid("An app can report only the states active, inactive and background.", pointer: "/state")
        }
        let id = try app(ofProcess: pid, channel: channel)
        guard isOwn(pid) else { return }
        await refreshWantedWakes(of: id)
        await perform(id) { $0.changed(to: state, now: $1) }
    }

    /// Stores the PNG picture that represents the app while it is in the background.
    package func putSnapshot(process pid: Int32, channel: String? = nil, _ png: [UInt8]) async throws(Problem) {
        let id = try app(ofProcess: pid, channel: channel)
        do throws(PictureProblem) {
            try PictureProblem.check(png)
        } catch {
            throw .invalid("The body is not a snapshot: \(error.sentence)")
        }
        do {
            try Data(png).write(to: URL(filePath: path(id, "png")), options: .atomic)
        } catch {
            throw .unavailable("The snapshot could not be stored: \(error.systemReason).")
        }
        let now = now
        await perform(id) { machine, _ in
            machine.record.snapshotTakenAt = now.wallSeconds
            return []
        }
    }

    /// Throws if the app's entry does not allow launches for session events.
    package func mayKeepSessions(_ app: AppID, launchEvents: Bool) throws(Problem) {
        guard launchEvents, let manifest = manifest(app), !manifest.modes.contains(.transfer) else { return }
        throw .invalid(
            "\(app) does not declare the background mode 'transfer', so it cannot be launched for session events. Add "
                + "'transfer' to X-Nightshift-BackgroundModes in \(manifest.entry), or set sessionSendsLaunchEvents to "
                + "false.", pointer: "/sessionSendsLaunchEvents")
    }

    /// Throws if the service cannot accept tasks for the app: because it is not installed, or because its entry does
    /// not allow launches for them.
    package func mayBeGivenTasks(_ app: AppID) throws(Problem) {
        try requireEntry(app)
        try mayKeepSessions(app, launchEvents: true)
    }

    /// Whether the process is the app's own process, which its machine manages.
    private func isOwn(_ pid: Int32) -> Bool {
        connections[pid].map { !$0.isGuest && !$0.isRunner } ?? false
    }

    func disconnected(_ pid: Int32, _ number: Int) async {
        guard let connection = connections[pid], connection.number == number else { return }
        connections[pid] = nil
        if !connection.isGuest { endPresentations(of: connection.app) }
        // If the supervising process disconnects, the command and its time limit continue.
        guard !connection.isRunner, machines[connection.app] != nil else { return }
        await perform(connection.app) { machine, now in
            if connection.isGuest { return machine.guestLeft(pid, now: now) }
            if !isSpokenFor(connection.app) { machine.disconnected() }
            return []
        }
    }

    func exited(_ process: ProcessIdentity, _ end: ProcessEnd) async {
        // A step that adopts the process may wait for its turn.
        await part.note { _ in }
        guard let id = machines.app(of: process), let machine = machines[id] else { return }
        var exit = AppExit(time: now.date, cause: .exited)
        switch end {
        case .exited(let status):
            exit.status = status
            if status != 0 { exit.cause = .failed }
        case .signalled(let signal):
            exit.signal = signal
            exit.cause = .signalled
        // The exit status of a command is known to its parent, not to the service.
        case .unknown: if machine.isManaged, !machine.isCommand { exit.cause = .unseen }
        }
        // This also covers child processes that are still alive. The service must not confuse them with a new process
        // of the app.
        endConnections(of: id)
        endPresentations(of: id)
        // The app's next process can read messages, even if this one was suspended when it ended.
        await environment.transfers.setListening(id, true)
        // The app may have handled some events just before it ended. It is not launched again for those.
        await refreshWantedWakes(of: id)
        await perform(id) { machine, now in
            // A process that has connected since then was mistaken for the process that is gone.
            endConnections(of: id)
            return machine.exited(exit, now: now)
        }
        // Another process of the app may have started in the meantime.
        if self.process(of: id) == nil {
            clocks.removeValue(forKey: id)?.remove()
            if id.isProgram {
                await tell { state, _ in state.forgetEndedProgram(id) }
                readings.forget(id)
            }
        }
        for waiter in endWaiters.removeValue(forKey: id) ?? [] { waiter.resume() }
        await readWantedWakes(of: id)
    }

    /// Ends the streams of an app's own processes. Processes that are still alive connect and are identified again.
    private func endConnections(of id: AppID) {
        for (pid, connection) in connections where connection.app == id && !connection.isGuest {
            connection.continuation.finish()
            connections[pid] = nil
        }
    }

    /// Returns the app to which the process belongs, if the service has launched that app.
    func launchedApp(of process: ProcessIdentity) -> AppID? {
        let session = getsid(process.pid)
        return machines.first { _, machine in
            guard let leader = machine.record.process, leader.isManaged else { return false }
            return leader.processID == process.pid || leader.processID == session
        }?.key
    }

    private func app(of process: ProcessIdentity, executable: String?, claimed: AppID?) -> AppID {
        if let claimed, manifest(claimed) != nil { return claimed }
        let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process.pid)/exe")
        let program = link ?? executable ?? "/proc/\(process.pid)/exe"
        return environment.entries.app(ofExecutable: program)?.id ?? AppID(rawValue: program)
    }
}
