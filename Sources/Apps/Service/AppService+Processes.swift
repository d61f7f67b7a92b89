import Clock
import Foundation
import Glibc
package import NightshiftAPI
import Store

/// The connections and the ends of apps' processes.
extension AppService {
    /// The commands for the calling process, beginning with who it is taken for. The stream's end disconnects it.
    ///
    /// - Parameters:
    ///   - executable: the caller's program, where the kernel does not tell; with `run`, the program that is to be run.
    ///   - app: what the caller says it is; it is believed where that is an installed app.
    ///   - child: a child of the caller that leads a process group, to be limited as background work. Within an app the
    ///     caller becomes a guest of that app instead.
    ///   - asGuest: whether the caller is only a process beside the app's own, which hears nothing but `expire`.
    package func connect(
        process pid: Int32, executable: String?, app claimed: AppID?, run child: Int32? = nil, asGuest: Bool = false
    ) async throws(Problem) -> AsyncStream<ProcessEvent> {
        // What is found out here may have changed while the other parts answer.
        var answer: (app: AppID, notices: [ProcessEvent])?
        var found: (process: ProcessIdentity, app: AppID)?
        while found == nil {
            guard !isStopping else { throw .unavailable("The service is stopping.") }
            guard let process = ProcessIdentity.of(pid, bootID: now.bootID) else {
                throw .conflict("There is no process \(pid).")
            }
            let launched = launchedApp(of: process)
            if let child, launched == nil { return try await connect(runner: pid, of: child, executable) }
            let app = launched ?? app(of: process, executable: executable, claimed: claimed)
            if answer?.app == app { found = (process, app) } else { answer = (app, await notices(of: app)) }
        }
        guard let (process, id) = found else { throw .unavailable("The service is stopping.") }
        try requireReadable(id)
        let owner = machines[id]?.record.process.map { ProcessIdentity($0) }
        // A script that starts the real program leads the session that both are in, and does not speak for the app itself.
        let isStranger =
            owner.map {
                $0 != process && $0.isAlive && (getsid(pid) != $0.pid || isSpokenFor(id, besides: pid))
            } ?? false
        let isGuest = isStranger || child != nil || asGuest
        if owner == nil, !isGuest, !environment.host.adopt(process) {
            // Nobody would learn of its end: the app would count as running for as long as the service does.
            guard process.isAlive else { throw .conflict("Process \(pid) has ended.") }
            throw .unavailable("Process \(pid) cannot be watched.")
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
            // Its window may have been there before it connected.
            if front.app == id { await followFront() }
        }
        return stream
    }

    /// Whether another living process reads the app's own commands.
    private func isSpokenFor(_ id: AppID, besides pid: Int32? = nil) -> Bool {
        connections.contains { other, connection in
            other != pid && connection.app == id && !connection.isGuest && !connection.isRunner
                && ProcessIdentity.of(other, bootID: now.bootID)?.isAlive == true
        }
    }

    /// A new stream for a process, in place of an older one.
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

    /// The identity of a connected process.
    ///
    /// - Parameter channel: the stream of commands that the process believes to have: where that is not the one it has, what
    ///   it says was meant for an earlier one. A request may reach a service that was started after it was sent: there a
    ///   command's number means another command, and the process has yet to say which background tasks are open.
    package func connectedProcess(_ pid: Int32, channel: String? = nil) throws(Problem) -> ConnectedProcess {
        guard channel == nil || connections[pid]?.name == channel else {
            throw .notConnected("Process \(pid) reads another stream of /v1/process/commands by now, or none.")
        }
        guard let connection = connections[pid] else {
            throw .notConnected("Process \(pid) has to read /v1/process/commands first.")
        }
        return ConnectedProcess(processID: pid, app: connection.app, isGuest: connection.isGuest)
    }

    /// The app that a connected process belongs to.
    package func app(ofProcess pid: Int32, channel: String? = nil) throws(Problem) -> AppID {
        try connectedProcess(pid, channel: channel).app
    }

    /// The app has done what a command asked.
    ///
    /// - Parameters:
    ///   - result: for a wake, what came of it; ``RefreshResult/newData`` unless given.
    ///   - presentation: for a notification, what of it is shown; nil for all that it says.
    package func acknowledge(
        process pid: Int32, channel: String? = nil, command: Int64, result: RefreshResult? = nil,
        presentation: Int? = nil
    ) async throws(Problem) {
        let id = try app(ofProcess: pid, channel: channel)
        if let presentation, !CommandAcknowledgement.presentations.contains(presentation) {
            throw .invalid(
                "A presentation is a sum of the options 1, 2, 4, 8 and 16, not \(presentation).",
                pointer: "/presentation")
        }
        guard isOwn(pid) else { return }
        let answer = presentation.map { PresentationAnswer.options($0) } ?? .asSent
        if endPresentation(Presentation.Key(app: id, command: command), answer) { return }
        await refreshWantedWakes(of: id)
        await perform(id) { $0.acknowledged(command, result: result ?? .newData, now: $1) }
    }

    /// The app came to the front or left it, by its own word.
    package func change(process pid: Int32, channel: String? = nil, to state: AppState) async throws(Problem) {
        guard state == .active || state == .inactive || state == .background else {
            throw .invalid("An app can become active, inactive or background.", pointer: "/state")
        }
        let id = try app(ofProcess: pid, channel: channel)
        guard isOwn(pid) else { return }
        await refreshWantedWakes(of: id)
        await perform(id) { $0.changed(to: state, now: $1) }
    }

    /// The picture that stands for the app while it is not seen: PNG.
    package func putSnapshot(process pid: Int32, channel: String? = nil, _ png: [UInt8]) async throws(Problem) {
        let id = try app(ofProcess: pid, channel: channel)
        do throws(PictureProblem) {
            try PictureProblem.check(png)
        } catch {
            throw .invalid("The body is no snapshot: \(error.sentence)")
        }
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

    /// Whether the process is the one that the app's machine is about.
    private func isOwn(_ pid: Int32) -> Bool {
        connections[pid].map { !$0.isGuest && !$0.isRunner } ?? false
    }

    func disconnected(_ pid: Int32, _ number: Int) async {
        guard let connection = connections[pid], connection.number == number else { return }
        connections[pid] = nil
        if !connection.isGuest { endPresentations(of: connection.app) }
        // The command goes on without who has run it, and so does its time.
        guard !connection.isRunner, machines[connection.app] != nil else { return }
        await perform(connection.app) { machine, now in
            if connection.isGuest { return machine.guestLeft(pid, now: now) }
            if !isSpokenFor(connection.app) { machine.disconnected() }
            return []
        }
    }

    func exited(_ process: ProcessIdentity, _ end: ProcessEnd) async {
        guard let id = machines.app(of: process), let machine = machines[id] else { return }
        var exit = AppExit(time: now.date, cause: .exited)
        switch end {
        case .exited(let status):
            exit.status = status
            if status != 0 { exit.cause = .failed }
        case .signalled(let signal):
            exit.signal = signal
            exit.cause = .signalled
        // Of a command the status is its parent's to know.
        case .unknown: if machine.isManaged, !machine.isCommand { exit.cause = .unseen }
        }
        // Also those of children that outlive it: a new process of the app is not to be mistaken for them.
        endConnections(of: id)
        endPresentations(of: id)
        // Its next process reads again, though this one may have ended suspended.
        await environment.transfers.setListening(id, true)
        // Events that it handled last are nothing to launch it for.
        await refreshWantedWakes(of: id)
        await perform(id) { machine, now in
            // Who has connected since was taken for the one that is gone.
            endConnections(of: id)
            return machine.exited(exit, now: now)
        }
        // Another process of it may have begun meanwhile.
        if self.process(of: id) == nil {
            clocks.removeValue(forKey: id)?.remove()
            if id.isProgram {
                machines[id] = nil
                readings[id] = nil
                reportActivity()
            }
        }
        for waiter in endWaiters.removeValue(forKey: id) ?? [] { waiter.resume() }
        await readWantedWakes(of: id)
    }

    /// Ends the streams of an app's own processes. Those that live on connect again, as who they are then.
    private func endConnections(of id: AppID) {
        for (pid, connection) in connections where connection.app == id && !connection.isGuest {
            connection.continuation.finish()
            connections[pid] = nil
        }
    }

    /// The app that the service has launched, and that the process is of.
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
