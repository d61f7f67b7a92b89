import Foundation
import Glibc
import NightshiftAPI
import NightshiftClient
import Synchronization
import TestSupport
import Testing

@testable import Nightshift

/// Tests that an app survives restarts and absences of the service without any code for this (row T13).
@Suite struct ServiceTroubleTests {
    @Test func `T13: A service that returns delivers each task that ended meanwhile once`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        session.downloadTask(with: url()).resume()
        session.downloadTask(with: url()).resume()
        try world.service.end(1, content: "one")
        try await world.service.state.wait(for: "an acknowledgement") { $0.acknowledged == [1] }
        world.service.stop()
        try world.service.end(2, content: "two")
        try world.service.start()
        try await delegate.heard.wait(for: "the second end") { $0.last == "2 completed" }
        world.service.breakStreams()
        try await world.service.state.wait(for: "another stream") { !$0.streams.isEmpty }
        #expect(delegate.heard.read { $0.filter { $0.hasSuffix("completed") } } == ["1 completed", "2 completed"])
    }

    @Test func `T13: An app survives the library's messages if its standard error cannot be written`()
        async throws
    {
        await #expect(processExitsWith: .success) {
            let full = open("/dev/full", O_WRONLY)
            try #require(full >= 0 && dup2(full, STDERR_FILENO) == STDERR_FILENO)
            let world = try World()
            world.service.stop()
            let process = world.process()
            process.session(Recorder()).downloadTask(with: url()).resume()
            try await eventually("the service is away") { process.connection.isUnreachable }
            Notice.print("It has said so.")
        }
    }

    @Test func `T13: A task resumed while the service is away is sent when the service is back`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let task = session.downloadTask(with: url())
        world.service.stop()
        let isResumed = Watched(false)
        Thread.detachNewThread {
            task.resume()
            isResumed.update { $0 = true }
        }
        try await eventually("the task is running") { task.state == .running }
        try world.service.start()
        try await world.service.state.wait(for: "the task") { $0.requests[1]?.request.suspended == false }
        try await isResumed.wait(for: "resume()") { $0 }
        try world.service.end(1)
        try await delegate.heard.wait(for: "the end") { $0.last == "1 completed" }
    }

    /// The service is away for longer than resume() waits.
    @Test func `T13: resume() returns although the service does not respond, and sends the task later`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let task = session.downloadTask(with: url())
        world.service.stop()
        task.resume()
        #expect(task.state == .running)
        try world.service.start()
        try await world.service.state.wait(for: "the task") { $0.requests[1] != nil }
        try world.service.end(1)
        try await delegate.heard.wait(for: "the end") { $0.last == "1 completed" }
    }

    @Test func `T13: Other tasks do not wait while the file of a late upload is copied`() async throws {
        let tasks = "POST /v1/process/sessions/org.example.photos/tasks"
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        session.downloadTask(with: url()).resume()
        world.service.stop()
        let file = try world.directory.write("body", to: "body")
        session.uploadTask(with: URLRequest(url: url()), fromFile: URL(filePath: file)).resume()
        let gate = Gate()
        world.service.state.update { $0.gates[tasks] = gate }
        try world.service.start()
        try await world.service.state.wait(for: "the upload") { $0.open[tasks] == 1 }
        try world.service.end(1)
        try await world.service.state.wait(for: "an acknowledgement") { $0.acknowledged == [1] }
        gate.open()
        try await world.service.state.wait(for: "the file") { $0.sources[2] == 4 }
    }

    @Test func `T13: The library sends a task again after its session if the task arrived first`() async throws {
        let world = try World()
        let line = "/v1/process/sessions/org.example.photos"
        let gate = Gate()
        world.service.state.update { $0.gates["PUT " + line] = gate }
        world.service.stop()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        // The app creates the task without the service, so the task does not wait for the session.
        let task = session.downloadTask(with: url())
        try world.service.start()
        try await world.service.state.wait(for: "the session") { $0.log.contains("PUT \(line)") }
        Thread.detachNewThread { task.resume() }
        try await world.service.state.wait(for: "the early task") { $0.log.contains("POST \(line)/tasks") }
        gate.open()
        try await world.service.state.wait(for: "the task") { !$0.order.isEmpty }
        try world.service.end(Int64(task.taskIdentifier))
        try await delegate.heard.wait(for: "the end") { $0.last == "\(task.taskIdentifier) completed" }
    }

    @Test func `T13: The library attaches a session again that the service has forgotten`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        session.downloadTask(with: url()).resume()
        world.service.state.update { $0.settings = [:] }
        session.downloadTask(with: url()).resume()
        try await world.service.state.wait(for: "the second task") { $0.order == [1, 2] }
        try world.service.end(2)
        try await delegate.heard.wait(for: "the end") { $0.last == "2 completed" }
    }

    @Test func `T13: A request repeated after a lost response does not create a second task`() async throws {
        let world = try World()
        let session = world.process().session(Recorder())
        let line = "POST /v1/process/sessions/org.example.photos/tasks"
        world.service.state.update { $0.unanswered[line] = 2 }
        let task = session.downloadTask(with: url())
        task.resume()
        #expect(world.service.state.read { $0.log.filter { $0 == line }.count } == 3)
        #expect(world.service.state.read { $0.tasks.count } == 1)
    }

    @Test func `T13: A task begins when the app resumes it, even if its hand-over got no response`() async throws {
        let world = try World()
        let process = world.process()
        let session = process.session(Recorder())
        let task = session.downloadTask(with: url())
        let line = "POST /v1/process/sessions/org.example.photos/tasks"
        world.service.state.update { $0.unanswered[line] = .max }
        // The library hands over a never-resumed task when its app enters the background.
        process.connection.sessions.handOverAll(timeout: .seconds(1))
        #expect(world.service.state.read { $0.tasks.values.map(\.task.state) } == [.suspended])
        world.service.state.update { $0.unanswered = [:] }
        task.resume()
        try await world.service.state.wait(for: "the task to run") { $0.tasks.values.map(\.task.state) == [.waiting] }
    }

    @Test func `T13: A later resume reverses a suspension whose response was lost`() async throws {
        let world = try World()
        let session = world.process().session(Recorder())
        let task = session.downloadTask(with: url())
        task.resume()
        try await world.service.state.wait(for: "the task") { $0.tasks.count == 1 }
        let id = try #require(world.service.state.read { $0.tasks.keys.first })
        let line = "POST /v1/tasks/\(id)/suspend"
        world.service.state.update { $0.unanswered[line] = .max }
        let suspending = Task { task.suspend() }
        try await world.service.state.wait(for: "the suspension") { $0.tasks[id]?.task.state == .suspended }
        world.service.stop()
        await suspending.value
        task.resume()
        world.service.state.update { $0.unanswered = [:] }
        try world.service.start()
        try await world.service.state.wait(for: "the task to run") { $0.tasks[id]?.task.state == .waiting }
    }

    @Test func `T13: While the service is away, each new task gets an unused number`() async throws {
        let world = try World()
        world.service.stop()
        let session = world.process().session(Recorder())
        let first = session.downloadTask(with: url())
        let second = session.downloadTask(with: url())
        #expect(first.taskIdentifier >= 1 << 42 && second.taskIdentifier == first.taskIdentifier + 1)
        first.resume()
        try world.service.start()
        try await world.service.state.wait(for: "the task") { !$0.order.isEmpty }
        #expect(world.service.state.read { $0.order.map { Int($0) } } == [first.taskIdentifier])
    }

    /// The service cannot be reached or started. If calls waited for it, the first number would take ten seconds and
    /// each task five.
    @Test
    func `T13: Without a service, calls return at once, and the library sends each task once, later`()
        async throws
    {
        let world = try World()
        world.service.stop()
        let delegate = Recorder()
        let process = world.process()
        let session = process.session(delegate)
        let made = Watched<[URLSessionDownloadTask]>([])
        Thread.detachNewThread {
            let tasks = (1...40).map { _ in session.downloadTask(with: url()) }
            for task in tasks.reversed() {
                task.resume()
                made.update { $0.append(task) }
            }
        }
        try await made.wait(for: "40 tasks") { $0.count == 40 }
        let tasks = made.read { $0 }
        #expect(tasks.allSatisfy { $0.state == .running })
        #expect(Set(tasks.map(\.taskIdentifier)).count == 40)
        #expect(world.service.state.read { $0.log } == [])
        let listed = Watched<[Int]?>(nil)
        session.getAllTasks { tasks in listed.update { $0 = tasks.map(\.taskIdentifier) } }
        try await listed.wait(for: "the list") { $0 != nil }
        #expect(listed.read { $0 } == tasks.map(\.taskIdentifier).sorted())
        // The library never sends a task that is cancelled meanwhile.
        tasks[20].cancel()
        try await delegate.heard.wait(for: "the cancellation") { $0 == ["\(tasks[20].taskIdentifier) completed -999"] }
        try world.service.start()
        try await world.service.state.wait(for: "the tasks") { $0.order.count >= 39 }
        let expected = tasks.filter { $0 !== tasks[20] }.map { Int64($0.taskIdentifier) }
        #expect(world.service.state.read { $0.order } == expected)
        try world.service.end(expected[0])
        try await delegate.heard.wait(for: "an end") { $0.last == "\(expected[0]) completed" }
        #expect(session.downloadTask(with: url()).taskIdentifier > tasks.map(\.taskIdentifier).max() ?? 0)
    }

    /// If the list were empty, an app would start all its transfers again.
    @Test func `T13: The list of tasks waits longer for a slow service than a new task does`() async throws {
        let world = try World()
        let process = world.process()
        let early = process.session(Recorder())
        for _ in 1...2 { early.downloadTask(with: url()).resume() }
        process.die()
        let attempts = world.service.isTooSlow(for: "PUT /v1/process/sessions/org.example.photos")
        let listed = Watched<[Int]?>(nil)
        let session = world.process().session(Recorder())
        session.getAllTasks { tasks in listed.update { $0 = tasks.map(\.taskIdentifier) } }
        try await attempts()
        #expect(listed.read { $0 } == nil)
        world.service.state.update { $0.refusals = [:] }
        try await listed.wait(for: "the list") { $0 != nil }
        #expect(listed.read { $0 } == [1, 2])
        session.invalidateAndCancel()
    }

    /// The library can reach the service, which has not listed its tasks yet.
    @Test func `T13: The list of tasks also waits for a service that has returned but is still slow`() async throws {
        let world = try World()
        let process = world.process()
        process.session(Recorder()).downloadTask(with: url()).resume()
        process.die()
        world.service.stop()
        let later = world.process()
        let session = later.session(Recorder())
        #expect(await session.allTasks.isEmpty)
        BGTaskScheduler(connection: later.connection).cancel(taskRequestWithIdentifier: "task")
        world.service.state.update { state in
            state.refusals["PUT /v1/process/sessions/org.example.photos"] = .unavailable("It is busy.")
        }
        try world.service.start()
        // The library sends the cancellation after the sessions are attached.
        try await world.service.state.wait(for: "the cancellation") { state in
            state.done.contains("DELETE /v1/process/scheduled-tasks/task")
        }
        let listed = Watched<[Int]?>(nil)
        session.getAllTasks { tasks in listed.update { $0 = tasks.map(\.taskIdentifier) } }
        world.service.state.update { $0.refusals = [:] }
        try await listed.wait(for: "the list") { $0 != nil }
        #expect(listed.read { $0 } == [1])
    }

    /// The delegate method blocks the queue of events, on which the library reports the end of the stream.
    @Test func `T13: The library sends waiting requests to a returned service even if a delegate blocks`()
        async throws
    {
        let world = try World()
        let gate = Gate()
        let delegate = Recorder { _ in _ = gate.block(until: .now + .seconds(60)) }
        let session = world.process().session(delegate)
        session.downloadTask(with: url()).resume()
        let second = session.downloadTask(with: url())
        second.resume()
        try world.service.end(1)
        try await delegate.heard.wait(for: "the file") { $0.last == "1 finished 'content'" }
        world.service.stop()
        second.cancel()
        let third = session.downloadTask(with: url())
        third.resume()
        try world.service.start()
        try await world.service.state.wait(for: "both") { state in
            state.log.contains("POST /v1/tasks/101/cancel") && state.order.contains(3)
        }
        gate.open()
        try await delegate.heard.wait(for: "the other end") { $0.last == "2 completed -999" }
    }

    @Test(arguments: [false, true])
    func `T13: A session that ends cancels tasks that the service lists only later`(isAway: Bool) async throws {
        let world = try World()
        let process = world.process()
        process.session(Recorder()).downloadTask(with: url()).resume()
        process.die()
        let attempts = world.service.isTooSlow(for: "PUT /v1/process/sessions/org.example.photos")
        if isAway { world.service.stop() }
        let delegate = Recorder()
        let session = world.process().session(delegate)
        session.invalidateAndCancel()
        if isAway {
            #expect(await session.allTasks.isEmpty)
            try world.service.start()
        }
        try await attempts()
        #expect(delegate.heard.read { $0 } == [])
        world.service.state.update { $0.refusals = [:] }
        #expect(try await delegate.heard.are(["1 completed -999", "invalid"]))
    }

    @Test func `T13: The library prints once why it cannot send tasks, and what to do`() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let world = try World()
            world.service.stop()
            let session = world.process().session(Recorder())
            for _ in 1...3 { session.downloadTask(with: url()).resume() }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.ranges(of: "The service cannot be reached.").count == 1)
        #expect(text.contains("nightshift doctor") && text.contains("nightshiftd was not found"))
    }

    @Test func `T13: A caller waiting for resume data gets nil if the session is refused first`()
        async throws
    {
        let world = try World()
        let process = world.process()
        let session = process.session(Recorder())
        let core = try #require(process.connection.sessions.session("org.example.photos"))
        let task = session.downloadTask(with: url())
        task.resume()
        world.service.stop()
        try await eventually("the session is away") { core.state.withLock(\.machine.link.isAway) }
        let data = Watched<[Data?]>([])
        task.cancel(byProducingResumeData: { given in data.update { $0.append(given) } })
        try await eventually("the cancellation waits") { core.state.withLock { !$0.work.isEmpty } }
        // Meanwhile another process has attached the session.
        world.service.state.update { _ = $0.taken.insert("org.example.photos") }
        try world.service.start()
        try await data.wait(within: .seconds(60), for: "an answer") { !$0.isEmpty }
        #expect(data.read { $0 } == [nil])
    }

    @Test func `T13: Tasks of a removed session end as cancelled`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let first = session.downloadTask(with: url())
        for task in [first, session.downloadTask(with: url())] { task.resume() }
        // `DELETE /v1/sessions/` has the same result: the messages about the ends of the tasks are removed too.
        world.service.state.update { state in
            state.tasks = [:]
            state.settings = [:]
        }
        first.cancel()
        try await delegate.heard.wait(within: .seconds(60), for: "the first end") { $0 == ["1 completed -999"] }
        world.service.breakStreams()
        session.finishTasksAndInvalidate()
        #expect(try await delegate.heard.are(["1 completed -999", "2 completed -999", "invalid"]))
    }

    private func status(_ id: Int64, _ state: TaskState) -> SessionTask {
        var status = TaskStatus(
            id: TaskID(id), session: SessionID(rawValue: "/app:photos"), taskIdentifier: id, kind: .download,
            method: "GET", url: "http://example.org/\(id)", state: state, priority: 0.5,
            createdAt: Date(timeIntervalSince1970: 1_800_000_000))
        if state == .waiting { status.wait = Wait(reason: .starting, since: status.createdAt) }
        return SessionTask(task: status, clientData: nil, resumedAt: nil)
    }

    @Test func `T13: An unknown value from a newer service hides only its property or task`() throws {
        let states: [TaskState] = [.waiting, .finishing, .waiting, .running]
        let page = SessionTaskPage(tasks: zip(Int64(1)..., states).map { status($0, $1) }, next: TaskID(7))
        let text = String(decoding: try JSON.encode(page), as: UTF8.self)
            .replacingOccurrences(of: "\"starting\"", with: "\"eclipse\"")
            .replacingOccurrences(of: "\"finishing\"", with: "\"eclipsed\"")
        let read = try Endpoint<SessionTaskPage>.tasks(inSession: "photos").answer(from: Data(text.utf8))
        #expect(read.next == TaskID(7) && read.tasks.map(\.task.id) == [TaskID(1), TaskID(3), TaskID(4)])
        #expect(read.tasks.map(\.task.state) == [.waiting, .waiting, .running])
        #expect(read.tasks.allSatisfy { $0.task.wait == nil })
        #expect(read.tasks.map(\.task.createdAt) == page.tasks.prefix(3).map(\.task.createdAt))
    }

    @Test func `T13: A failure with an unknown code from a newer service ends its task`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        session.downloadTask(with: url()).resume()
        try await world.service.state.wait(for: "the stream") { !$0.streams.isEmpty }
        world.service.change(1) { task in
            task.task.state = .failed
            task.task.error = TransferFailure(.timedOut, "The sun is gone.")
        }
        world.service.state.update { state in
            guard let task = state.tasks.values.first else { return }
            let message = SessionMessage(id: 1, kind: .ended, task: task)
            let frame = ScriptedService.frame("message", id: 1, message)
                .replacingOccurrences(of: "timedOut", with: "eclipse")
            for stream in state.streams { stream.send(frame) }
        }
        try await world.service.state.wait(for: "the acknowledgement") { $0.acknowledged == [1] }
        #expect(delegate.heard.read { $0 } == ["1 completed \(NSURLErrorCannotWriteToFile)"])
    }

    @Test func `T13: The library attaches a session again when the service no longer knows the process`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        session.downloadTask(with: url()).resume()
        // Only the channel is lost. The service refuses requests until there is a new channel.
        let channels = world.service.state.update { state in
            defer { state.channels = [] }
            return state.channels
        }
        session.downloadTask(with: url()).resume()
        #expect(world.service.state.read { $0.tasks.count } == 2)
        for channel in channels { channel.close() }
        try world.service.end(2)
        try await delegate.heard.wait(for: "the end") { $0.last == "2 completed" }
    }
}
