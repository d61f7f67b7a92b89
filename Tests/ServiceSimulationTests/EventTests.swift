import Foundation
import GRDB
import NightshiftAPI
import SimulationSupport
import Store
import Synchronization
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// Tests of the events that readers of the event streams receive.
    @Suite struct EventTests {
        @Test func `An event reader receives every journal entry once and in order`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("events") { world in
                    let url = Story.serve(world, size: 6_000_000, script: [.cut(after: 2_000_000)])
                    world.transport.setBandwidth(1_000_000)
                    await world.start()
                    let heard = Heard()
                    let reader = Task { [service = world.service] in
                        for await event in try await service.events(EventQuery(lastEventID: 0)) { heard.add(event) }
                        heard.end()
                    }
                    let id = await world.enqueue(world.request(url))
                    await world.advance(by: 30)
                    let page = try await world.service.journal(JournalQuery(limit: 1_000))
                    #expect(heard.entries == page.entries)
                    #expect(heard.entries.map(\.decision).suffix(3) == [.continued, .finishing, .completed])
                    let counts = heard.progress.map(\.countOfBytesReceived)
                    #expect(counts.count >= 4)
                    #expect(counts == counts.sorted())
                    #expect(Set(heard.progress.map(\.id)) == [id])
                    // Before the server responds, the expected byte count is still unknown (-1).
                    let begun = heard.progress.filter { $0.countOfBytesReceived > 0 }
                    #expect(Set(begun.map(\.countOfBytesExpectedToReceive)) == [6_000_000])
                    #expect(heard.progress.allSatisfy { [-1, 6_000_000].contains($0.countOfBytesExpectedToReceive) })
                    await world.call { [service = world.service] in await service.stop() }
                    await world.settle()
                    #expect(heard.hasEnded)
                    reader.cancel()
                }
            }
        }

        @Test func `T2: A reader of a task's final event finds the task ended`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("asked at once") { world in
                    let whole = Story.serve(world, size: 20_000)
                    let gone = Story.serve(world, name: "gone", size: 20_000, script: [.status(404)])
                    await world.start()
                    let answers = Mutex<[TaskState?]>([])
                    let reader = Task { [service = world.service] in
                        for await event in try await service.events(EventQuery(lastEventID: 0)) {
                            guard case .journal(let entry) = event, let id = entry.task,
                                entry.decision == .completed || entry.decision == .failed
                            else { continue }
                            let state = try? await service.task(id).state
                            answers.withLock { $0.append(state) }
                        }
                    }
                    let requests = [world.request(gone)] + (0..<200).map { _ in world.request(whole) }
                    await world.enqueue(requests)
                    await world.advance(atMost: 600) { answers.withLock(\.count) == requests.count }
                    #expect(answers.withLock { Set($0) } == [.completed, .failed])
                    reader.cancel()
                    try await world.stop()
                }
            }
        }

        @Test func `A reader whose last event ID is unknown receives a reset`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("reset") { world in
                    await world.start()
                    let heard = Heard()
                    // The reader's last event ID belongs to another database.
                    let reader = Task { [service = world.service] in
                        for await event in try await service.events(EventQuery(lastEventID: 999)) { heard.add(event) }
                    }
                    await world.settle()
                    #expect(heard.resets == [1])
                    let url = Story.serve(world, size: 10)
                    await world.enqueue(world.request(url))
                    await world.advance(by: 2)
                    #expect(heard.entries.first?.id == 2)
                    reader.cancel()
                    await world.settle()
                }
            }
        }

        @Test func `A reader of one task does not receive events of other tasks`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("one task") { world in
                    let url = Story.serve(world, size: 3_000_000)
                    await world.start()
                    let other = await world.enqueue(world.request(url))
                    let id = await world.enqueue(world.request(url))
                    let heard = Heard()
                    let reader = Task { [service = world.service] in
                        for await event in try await service.events(EventQuery(tasks: [id], lastEventID: 0)) {
                            heard.add(event)
                        }
                    }
                    await world.advance(by: 30)
                    #expect(heard.entries.map(\.task) == Array(repeating: id, count: heard.entries.count))
                    #expect(heard.entries.last?.decision == .completed)
                    #expect(heard.progress.allSatisfy { $0.id == id })
                    #expect(await world.status(other)?.state == .completed)
                    reader.cancel()
                    await world.settle()
                }
            }
        }

        @Test func `A session that is removed loses its tasks and their bytes`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("removed session") { world in
                    let large = Story.serve(world, name: "large", size: 9_000_000)
                    let small = Story.serve(world, name: "small", size: 1_000)
                    world.transport.setBandwidth(1_000_000)
                    await world.start()
                    let ids = await world.enqueue(
                        [
                            world.request(large, session: "app", kept: true),
                            world.request(small, session: "app", kept: true),
                        ],
                        session: "app")
                    await world.advance(by: 3)
                    #expect(await world.status(ids[1])?.state == .completed)
                    world.ledger.entries = [:]
                    let removed = await world.call { [service = world.service] in
                        do {
                            try await service.removeSession(SessionID(rawValue: "app"))
                            return true
                        } catch {
                            return false
                        }
                    }
                    #expect(removed == true)
                    await world.advance(by: 5)
                    #expect(await world.status(ids[0]) == nil)
                    #expect(world.transport.underWay.isEmpty)
                    let left = [world.paths.partials, world.paths.files].flatMap {
                        (try? FileManager.default.contentsOfDirectory(atPath: $0.path)) ?? ["unreadable"]
                    }
                    #expect(left.isEmpty)
                    #expect(world.nextEvent == nil)
                }
            }
        }

        @Test func `The service removes the tasks of a large session in several transactions`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("a large session") { world in
                    await world.start()
                    let session = SessionID(rawValue: "app")
                    try await world.store.write { transaction in
                        try transaction.putSession(session, SessionSettings())
                        for _ in 0..<2_500 {
                            var record = try transaction.insert(
                                TaskRecord(
                                    session: session, origin: "http://host.example:80", state: .waiting, priority: 0.5,
                                    createdAt: 1_800_000_000, request: TaskRequest(url: "http://host.example/file")))
                            record.state = .completed
                            record.endedAt = 1_800_000_000
                            record.endedBoot = 0
                            try transaction.update(record)
                        }
                    }
                    let deleted = DeletedTasks()
                    world.store.add(transactionObserver: deleted)
                    let isRemoved = await world.call { [service = world.service] in
                        (try? await service.removeSession(session)) != nil
                    }
                    #expect(isRemoved == true)
                    #expect(deleted.all == 2_500)
                    #expect(deleted.most <= 1_000)
                    #expect(try await world.store.read { try $0.sessions(session) }.isEmpty)
                    try await world.stop()
                }
            }
        }

        @Test func `The service starts no task of a session that is being removed`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("nothing begins in a removed session") { world in
                    world.transport.setWeather { _ in .silent }
                    let url = Story.serve(world, size: 1_000)
                    await world.start()
                    await world.enqueue(
                        (0..<60).map { _ in world.request(url, session: "app", kept: true) }, session: "app")
                    await world.advance(by: 1)
                    let begun = world.transport.begun.count
                    #expect((1..<60).contains(begun))
                    world.ledger.entries = [:]
                    let isRemoved = await world.call { [service = world.service] in
                        (try? await service.removeSession(SessionID(rawValue: "app"))) != nil
                    }
                    #expect(isRemoved == true)
                    await world.advance(by: 5)
                    #expect(world.transport.begun.count == begun)
                    // A new session with the same name can start tasks at once.
                    world.transport.setWeather { _ in .normal }
                    let id = await world.enqueue(world.request(url, session: "app", kept: true), session: "app")
                    await world.advance(by: 10)
                    #expect(await world.status(id)?.state == .completed)
                    try await world.stop()
                }
            }
        }
    }
}

/// The events that a reader has received so far.
private final class Heard: Sendable {
    private let state = Mutex((events: [ServiceEvent](), hasEnded: false))

    func add(_ event: ServiceEvent) {
        state.withLock { $0.events.append(event) }
    }

    func end() {
        state.withLock { $0.hasEnded = true }
    }

    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    var entries: [JournalEntry] {
        state.withLock { $0.events.compactMap { if case .journal(let entry) = $0 { entry } else { nil } } }
    }

    var progress: [TaskProgress] {
        state.withLock { $0.events.compactMap { if case .progress(let progress) = $0 { progress } else { nil } } }
    }

    var resets: [Int64] {
        state.withLock { $0.events.compactMap { if case .reset(let last) = $0 { last } else { nil } } }
    }
}

/// The number of task rows deleted in all, and by a single transaction.
private final class DeletedTasks: TransactionObserver, Sendable {
    private let state = Mutex((current: 0, most: 0, all: 0))

    var most: Int { state.withLock { $0.most } }
    var all: Int { state.withLock { $0.all } }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        if case .delete(tableName: "tasks") = eventKind { true } else { false }
    }

    func databaseDidChange(with event: DatabaseEvent) {
        state.withLock { $0.current += 1 }
    }

    func databaseDidCommit(_ db: Database) {
        state.withLock { state in
            state.most = max(state.most, state.current)
            state.all += state.current
            state.current = 0
        }
    }

    func databaseDidRollback(_ db: Database) {
        state.withLock { $0.current = 0 }
    }
}
