import Apps
import Foundation
import NightshiftAPI
import Operations
import Sessions
import SimulationSupport
import Store
import Synchronization
import TestSupport
import Testing
import Transfers

/// The tasks that an app adds, and the effects of the app's state on these tasks (decision 0035).
@Suite(.timeLimit(.minutes(20))) struct AddingTests {
    @Test func `A task from the foreground starts, and a task from the background waits`() async throws {
        let scene = try await OperationScene()
        let process = try await scene.launch()
        let session = try await scene.attach(process)
        let front = try await scene.add([1], in: session)
        try await scene.apps.change(process: process, to: .background)
        let back = try await scene.add([2, 3], in: session)
        #expect(try await !scene.task(front[0]).isDiscretionForced)
        for id in back { #expect(try await scene.task(id).isDiscretionForced) }
        try await scene.apps.change(process: process, to: .active)
        for record in try await scene.tasks() {
            #expect(!record.isDiscretionForced && record.rules.discretion == .none)
        }
        let lifted = try await scene.journal(.conditionsLifted)
        #expect(lifted.map(\.detail) == ["2 transfers."] && lifted.map(\.app) == [OperationScene.app])
        // A repeated request returns the same task and adds none.
        #expect(try await scene.add([2], in: session) == [back[0]])
        try await scene.end()
    }

    @Test func `A task waits for the rest of the pause that its app's row contains`() async throws {
        let scene = try await OperationScene()
        let process = try await scene.launch()
        let session = try await scene.attach(process)
        try await scene.apps.change(process: process, to: .background)
        let now = scene.clock.now()
        try await scene.store.write { transaction in
            var record = try #require(try transaction.app(OperationScene.app))
            (record.startDelay, record.startDelayFrom) = (120, now.wallSeconds - 20)
            try transaction.put(record)
        }
        let id = try await scene.add([1], in: session)[0]
        let held = try await scene.task(id)
        #expect(held.notBefore == now.bootSeconds + 100)
        #expect(held.wait?.reason == .relaunchDelay && held.isDiscretionForced)
        try await scene.apps.change(process: process, to: .active)
        let free = try await scene.task(id)
        #expect(free.notBefore == nil && free.wait == nil && !free.isDiscretionForced)
        try await scene.end()
    }

    /// A test of the race between two queries that earlier versions made one after the other.
    @Test func `A task is unblocked if its app enters the foreground between query and insertion`() async throws {
        let scene = try await OperationScene()
        let process = try await scene.launch()
        let session = try await scene.attach(process)
        try await scene.apps.change(process: process, to: .background)
        let (query, asked) = Self.query([.back, .front, .front])
        let id = try await scene.transfers.enqueue(
            session.app, "s", OperationScene.request([1]), process: process, on: query)[0]
        #expect(asked.withLock { $0 } == 3)
        #expect(try await !scene.task(id).isDiscretionForced)
        #expect(try await scene.journal(.accepted).count == 1)
        try await scene.end()
    }

    @Test func `A task is blocked if its app leaves the foreground between query and insertion`() async throws {
        let scene = try await OperationScene(moment: DeviceState(phase: .dozing))
        let process = try await scene.launch()
        let session = try await scene.attach(process)
        let (query, asked) = Self.query([.front, .back, .delayed, .back, .back])
        let ids = try await scene.transfers.enqueue(
            session.app, "s", OperationScene.request([1, 2]), process: process, on: query)
        #expect(asked.withLock { $0 } == 5)
        for id in ids {
            let record = try await scene.task(id)
            #expect(record.isDiscretionForced && record.notBefore == nil && record.wait == nil)
        }
        let held = try await scene.journal(.held)
        #expect(held.map(\.task) == [ids[0]] && held.map(\.wait?.reason) == [.doze])
        #expect(held.first?.wait?.detail?.contains("2 transfers.") == true)
        #expect(try await scene.journal(.accepted).count == 1)
        try await scene.end()
    }

    @Test func `The service refuses tasks from an app that was force quit`() async throws {
        let scene = try await OperationScene()
        let process = try await scene.launch()
        let session = try await scene.attach(process)
        let early = try await scene.add([1], in: session)[0]
        let apps = scene.apps
        async let quit = apps.quit(OperationScene.app, force: true)
        try await eventually("the word of the quit") {
            try await scene.snapshot().app?.isForceQuit == true
        }
        // The process has not exited yet. The tasks that it adds now are cancelled with the others.
        let late = try await scene.add([2], in: session)[0]
        scene.host.end(process, .exited(0))
        #expect(try await quit.isForceQuit)
        for id in [early, late] { #expect(try await scene.task(id).state == .cancelled) }

        // The process sent this request before it exited, but the request arrives only now.
        let refused = try await problem { try await scene.add([3], in: session) }
        #expect(refused.status == 409)
        #expect(try await scene.tasks().count == 2)
        // The service still repeats a response that was lost.
        #expect(try await scene.add([1], in: session) == [early])
        // The force quit did not end this other process of the app.
        try await scene.connect(getpid(), asGuest: true)
        let guest = try await scene.attach(getpid())
        #expect(guest.process.isGuest)
        #expect(try await scene.add([4], in: guest).count == 1)
        try await scene.end()
    }

    @Test func `An app that exited without a force quit can add tasks`() async throws {
        let scene = try await OperationScene()
        let process = try await scene.launch()
        let session = try await scene.attach(process)
        scene.host.end(process, .exited(0))
        try await eventually("the end") { try await scene.snapshot().app?.process == nil }
        let id = try await scene.add([1], in: session)[0]
        #expect(try await !scene.task(id).isDiscretionForced)
        try await scene.end()
    }

    private enum Answer {
        case front
        case back
        case delayed

        func terms(_ now: ClockReading) -> AppTaskTerms {
            switch self {
            case .front: AppTaskTerms()
            case .back: AppTaskTerms(isInBackground: true)
            case .delayed: AppTaskTerms(startsPausedUntil: now.wallSeconds + 60, isInBackground: true)
            }
        }
    }

    /// Returns a query that gives these answers in turn, and a counter of its calls.
    private static func query(_ answers: [Answer]) -> (AppTaskTerms.Query, Counter) {
        let counter = Counter()
        return (
            { _, now in
                let index = counter.withLock { count in
                    defer { count += 1 }
                    return count
                }
                return .success(answers[min(index, answers.count - 1)].terms(now))
            }, counter
        )
    }

    private final class Counter: Sendable {
        private let count = Mutex(0)

        func withLock<Value: Sendable>(_ body: (inout Int) -> Value) -> Value {
            count.withLock { body(&$0) }
        }
    }
}
