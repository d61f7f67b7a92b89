import Apps
import Foundation
import Glibc
import NightshiftAPI
import Operations
import Sessions
import Store
import TestSupport
import Testing
import Transfers

/// Sessions of apps: which processes may create and use a session, and which records are removed with it.
@Suite(.timeLimit(.minutes(20))) struct SessionTests {
    @Test func `The service refuses tasks for an app that is unknown or may not be launched for tasks`() async throws {
        let scene = try await OperationScene(keys: "X-Nightshift-BackgroundModes=fetch;")
        func add(_ app: AppID) async throws -> [TaskID] {
            try await scene.operations.enqueue(
                EnqueueRequest(
                    session: SessionID(rawValue: "s"), app: app, tasks: [TaskRequest(url: "http://a.example/1")]))
        }
        #expect(try await problem { try await add(AppID(rawValue: "org.example.other")) }.status == 404)
        let refused = try await problem { try await add(OperationScene.app) }
        #expect(refused.detail?.contains("X-Nightshift-BackgroundModes") == true)
        #expect(try await scene.transfers.sessions().allSatisfy { $0.app == nil })

        // The app's process cannot create a session that launches the app either.
        let process = try await scene.launch()
        let session = try await scene.operations.session("s", by: CallingProcess(process))
        var settings = SessionSettings()
        let own = try await problem { [settings] in try await scene.operations.attach(session, settings) }
        #expect(own.type == refused.type)
        settings.sessionSendsLaunchEvents = false
        #expect(try await scene.operations.attach(session, settings).session == OperationScene.session)
        try await scene.end()
    }

    @Test func `The current stream of a process identifies the process, and an earlier one does not`() async throws {
        let scene = try await OperationScene()
        let process = try await scene.launch()
        let stranger = try await problem {
            try await scene.operations.session("s", by: CallingProcess(getpid()))
        }
        #expect(stranger.type == "/problems/not-connected")
        let stale = try await problem {
            try await scene.operations.session("s", by: CallingProcess(process, channel: "another"))
        }
        #expect(stale.type == "/problems/not-connected")
        let session = try await scene.operations.session("s", by: CallingProcess(process))
        #expect(session.app == OperationScene.app && !session.process.isGuest)
        try await scene.end()
    }

    @Test func `A session has one reading process, and refuses every other process`() async throws {
        let scene = try await OperationScene()
        let process = try await scene.launch()
        let session = try await scene.attach(process)
        let messages = try await scene.operations.messages(of: session)
        try await scene.connect(getpid(), asGuest: true)
        let refused = try await problem {
            try await scene.operations.session("s", by: CallingProcess(getpid()))
        }
        #expect(refused.type == "/problems/session-in-use")
        // The process can still read another session.
        #expect(try await scene.operations.session("t", by: CallingProcess(getpid())).process.isGuest)
        withExtendedLifetime(messages) {}
        try await scene.end()
    }

    @Test func `A task that is added while its session is removed is cancelled and does not continue`()
        async throws
    {
        let scene = try await OperationScene()
        let operations = scene.operations
        func add(_ count: Int) async throws -> [TaskID] {
            try await operations.enqueue(
                EnqueueRequest(
                    session: SessionID(rawValue: "s"), app: OperationScene.app,
                    tasks: (0..<count).map { TaskRequest(url: "http://a.example/\($0)") }))
        }
        _ = try await add(500)
        let isRemoved = Watched(false)
        async let removal: Void = {
            try await operations.removeSession(OperationScene.session)
            isRemoved.update { $0 = true }
        }()
        var meanwhile: [TaskID] = []
        while !isRemoved.read({ $0 }) { meanwhile += try await add(1) }
        try await removal
        let (cancelled, there) = try await scene.store.read { [meanwhile] transaction in
            (
                try transaction.journal(after: 0, limit: 10_000).filter { $0.decision == .cancelled }.compactMap(
                    \.task),
                try meanwhile.filter { try transaction.task($0) != nil }
            )
        }
        // The last tasks may belong to the next session with the same name.
        #expect(meanwhile.filter { !cancelled.contains($0) && !there.contains($0) } == [])
        #expect(!Set(cancelled).isDisjoint(with: meanwhile))
        try await scene.end()
    }

    @Test func `A session with an unreadable task can be removed`() async throws {
        let scene = try await OperationScene()
        let ids = try await scene.operations.enqueue(
            EnqueueRequest(
                session: SessionID(rawValue: "s"), app: OperationScene.app,
                tasks: [TaskRequest(url: "http://a.example/1"), TaskRequest(url: "http://a.example/2")]))
        let editing = try await ChildProcess.run(
            "python3",
            [
                "-c", "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.execute(sys.argv[2]); d.commit()",
                scene.paths.database.path(percentEncoded: false), "UPDATE tasks SET partial = '{' WHERE id = \(ids[0])",
            ])
        #expect(editing.code == 0, "\(editing.errors)")
        let isRemoved = Watched(false)
        let removing = Task { [operations = scene.operations] in
            try await operations.removeSession(OperationScene.session)
            isRemoved.update { $0 = true }
        }
        try await isRemoved.wait(for: "the removal") { $0 }
        try await removing.value
        #expect(try await scene.transfers.sessions().allSatisfy { $0.app == nil })
        try await scene.end()
    }

    @Test func `Exactly one of many processes replaces the dead reader of a session`() async throws {
        let scene = try await OperationScene()
        let transfers = scene.transfers
        let gone = try ChildProcess("true")
        _ = try await gone.waitForExit()
        let others = try (1...8).map { _ in try ChildProcess("sleep", arguments: ["600"]) }
        for name in (1...20).map({ "s\($0)" }) {
            _ = try await transfers.putSession(SessionID(app: OperationScene.app, identifier: name), SessionSettings())
            @Sendable func read(_ process: Int32) async -> AsyncStream<SessionEvent>? {
                try? await transfers.messages(OperationScene.app, name, process: process)
            }
            let former = try #require(await read(gone.pid))
            let readers = await withTaskGroup { group in
                for other in others { group.addTask { await read(other.pid) } }
                return await group.compactMap(\.self).reduce(into: []) { $0.append($1) }
            }
            #expect(readers.count == 1, "\(name)")
            withExtendedLifetime((former, readers)) {}
        }
        try await scene.end()
    }

    @Test func `The removal of a session removes the wakes of its app`() async throws {
        let scene = try await OperationScene()
        func wakes() async throws -> [WakeStatus] {
            // The list of apps does not check the wakes again when it is read.
            try await scene.apps.apps().first { $0.id == OperationScene.app }?.wakes ?? []
        }
        // A force quit prevents the launch of the app, so the wakes remain.
        _ = try await scene.apps.quit(OperationScene.app, force: true)
        let id = try await scene.operations.enqueue(
            EnqueueRequest(
                session: SessionID(rawValue: "s"), app: OperationScene.app,
                tasks: [TaskRequest(url: "http://a.example/1")]))[0]
        _ = try await scene.transfers.cancel(id, producingResumeData: false)
        try await eventually("the wake") { try await !wakes().isEmpty }
        try await scene.operations.removeSession(OperationScene.session)
        #expect(try await wakes().isEmpty)
        #expect(try await scene.tasks().isEmpty)
        #expect(try await problem { try await scene.operations.removeSession(OperationScene.session) }.status == 404)
        try await scene.end()
    }
}
