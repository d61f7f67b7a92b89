import Apps
import NightshiftAPI
import Sessions
import SimulationSupport
import Store
import Transfers

/// The actions of running programs, and their execution.
extension AppWorld {
    /// Lets every running process perform its next action. Returns false if no process had one.
    func letProgramsAct() async -> Bool {
        let living = host.living
        for pid in actors.keys where !living.contains(pid) {
            actors[pid]?.disconnect()
            actors[pid] = nil
        }
        for pid in living where actors[pid] == nil {
            if let app = host.plan(pid)?.app { actors[pid] = ScriptedActor(pid, app) }
        }
        for (pid, actor) in actors.sorted(by: { $0.key < $1.key }) where !host.isSuspended(pid) {
            guard let program = programs[actor.app] else { continue }
            if await act(actor, program) { return true }
        }
        return false
    }

    /// Starts a process as the user would.
    func startByUser(_ app: AppID) throws -> Int32 {
        let process = try host.startByUser()
        actors[process.pid] = ScriptedActor(process.pid, app)
        return process.pid
    }

    private func act(_ actor: ScriptedActor, _ program: ScriptedProgram) async -> Bool {
        guard program.links else {
            if host.isAskedToEnd(actor.process) {
                host.end(actor.process, .signalled(15))
                return true
            }
            guard let status = program.status else { return false }
            host.end(actor.process, .exited(status))
            return true
        }
        if host.isAskedToEnd(actor.process), program.obeys {
            host.end(actor.process, .exited(0))
            return true
        }
        if actor.hasToConnect { return await connect(actor, program) }
        let news = actor.takeNews()
        for item in news { await take(item, actor, program) }
        if !news.isEmpty { return true }
        return await work(actor, program)
    }

    private func connect(_ actor: ScriptedActor, _ program: ScriptedProgram) async -> Bool {
        actor.hasToConnect = false
        let (pid, app) = (actor.process, actor.app)
        guard let events = await ask({ apps, _ in try await apps.connect(process: pid, executable: nil, app: app) })
        else { return false }
        actor.follow(events)
        return true
    }

    /// Attaches a process to a session. Returns false if that is not possible now.
    private func read(_ session: String, _ actor: ScriptedActor) async -> Bool {
        guard !actor.attached.contains(session), !isDying else { return false }
        let (pid, app) = (actor.process, actor.app)
        switch await call({ _, transfers in try await transfers.messages(app, session, process: pid) }) {
        case .success(let events):
            actor.follow(session, events)
            return true
        // The session does not exist yet, or another process of the app reads it.
        case .failure(let problem):
            if problem.type != "/problems/no-session", problem.type != "/problems/session-in-use", !isDying {
                world.fail("Messages are not to be had: \(problem)")
            }
        case nil: break
        }
        return false
    }

    private func take(_ news: ScriptedActor.News, _ actor: ScriptedActor, _ program: ScriptedProgram) async {
        switch news {
        case .process(.hello(let hello)): actor.hello = hello
        case .process(.stopping), .process(.refresh), .process(.location), .process(.push): break
        case .process(.command(let command)):
            if command.action == .enter, let state = command.state {
                record.states[actor.process, default: []].append(state)
            }
            checkCommand(command, actor)
            if !actor.commands.contains(command) { actor.commands.append(command) }
        case .session(let session, .progress):
            record.progress[SessionID(app: actor.app, identifier: session), default: 0] += 1
        case .session(let session, .message(let message)): await take(message, session, actor, program)
        case .session(_, .caughtUp): break
        }
    }

    private func checkCommand(_ command: ProcessCommand, _ actor: ScriptedActor) {
        guard command.action == .handleEvents, let session = command.session, let through = command.through else {
            return
        }
        if record.completed[SessionID(app: actor.app, identifier: session)] ?? 0 >= through {
            world.fail("\(actor.app) is woken again for what it has completed in \(session).")
        }
    }

    private func take(
        _ message: SessionMessage, _ session: String, _ actor: ScriptedActor, _ program: ScriptedProgram
    ) async {
        let app = actor.app
        let sighting = DeliveryRecord.Sighting(
            app: app, session: session, message: message.id, kind: message.kind,
            task: message.task.task.taskIdentifier)
        if record.acknowledged.contains(sighting) { world.fail("\(sighting) came again after it was acknowledged.") }
        let last = record.sightings.last { $0.app == app && $0.session == session }
        if let last, last.message > message.id, !record.sightings.contains(sighting) {
            world.fail("\(sighting) came after message \(last.message).")
        }
        record.sightings.append(sighting)
        if message.kind.isQuestion {
            record.questions.append(message)
            guard let answer = program.answer(message) else { return }
            await ask { _, transfers in try await transfers.answer(app, session, answer) }
        } else {
            let done: Bool? = await ask { _, transfers in
                try await transfers.acknowledge(app, session, [message.id])
                return true
            }
            if done == true { record.acknowledged.insert(sighting) }
        }
    }

    /// Executes one command that the process has received.
    private func work(_ actor: ScriptedActor, _ program: ScriptedProgram) async -> Bool {
        guard !isDying else { return false }
        for command in actor.commands {
            switch command.action {
            case .handleEvents:
                guard let session = command.session, let through = command.through else { continue }
                if program.crashes > 0 {
                    programs[actor.app]?.crashes -= 1
                    host.end(actor.process, .signalled(11))
                    return true
                }
                if program.reads, await read(session, actor) { return true }
                guard program.completes, await hasHandled(actor.app, session, through) else { continue }
                if await finish(command, actor) {
                    record.completed[SessionID(app: actor.app, identifier: session)] = through
                }
                return true
            case .terminate:
                guard program.obeys else { continue }
                host.end(actor.process, .exited(0))
                return true
            case .enter, .handleWake, .snapshot, .expire, .expireWake, .present:
                guard program.obeys else { continue }
                _ = await finish(command, actor)
                return true
            }
        }
        for session in program.sessions where program.reads {
            if await read(session, actor) { return true }
        }
        return false
    }

    private func hasHandled(_ app: AppID, _ session: String, _ through: Int64) async -> Bool {
        await kept(app, session).allSatisfy { $0.id > through }
    }

    private func finish(_ command: ProcessCommand, _ actor: ScriptedActor) async -> Bool {
        let (pid, number) = (actor.process, command.number)
        let done: Bool? = await ask { apps, _ in
            try await apps.acknowledge(process: pid, command: number)
            return true
        }
        guard done == true, !isDying else { return false }
        actor.commands.removeAll { $0.number == number }
        return true
    }
}
