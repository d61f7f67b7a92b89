import Foundation
import NightshiftAPI
import Refresh
import Scheduler
import Store
import Testing

/// R1 R10: Scheduled tasks, from submission to their end.
@Suite struct StateTaskTests {
    private typealias Scene = StateScene

    private static func scene(
        modes: Set<BackgroundMode> = [.fetch, .processing], tasks: [String] = ["work", "more", "a.*"]
    ) -> Scene {
        var scene = Scene()
        scene.install(Scene.manifest(modes: modes, interval: .minimum, tasks: tasks))
        return scene
    }

    private static func submit(
        _ task: ScheduledTask, to scene: inout Scene, of app: AppID = Scene.app, isInFront: Bool = false
    ) throws {
        try scene.step { try $0.submit(task, for: app, isInFront: isInFront, now: $1) }
    }

    private static func refusal(
        _ task: ScheduledTask, to scene: inout Scene, isInFront: Bool = false
    ) -> Problem? {
        #expect(throws: Problem.self) { try submit(task, to: &scene, isInFront: isInFront) }
    }

    // MARK: - Refresh

    @Test func `R1 R10: An app with task identifiers gets fetches only for its requests`() throws {
        var scene = Self.scene()
        scene.pass(to: 24)
        #expect(scene.begun.isEmpty && scene.book.nextDeadline == nil)
        #expect(scene.status()?.sentence.contains("no refresh task waiting") == true)
        try Self.submit(Scene.task(.refresh, at: 40), to: &scene)
        #expect(scene.status()?.expected == Date(timeIntervalSince1970: Scene.start + 40 * 3_600))
        #expect(scene.book.nextDeadline == Scene.start + 40 * 3_600)
        #expect(scene.status()?.scheduled.map(\.until) == [Date(timeIntervalSince1970: Scene.start + 40 * 3_600)])
        scene.pass(to: 39.9)
        #expect(scene.begun.isEmpty)
        scene.pass(to: 24 * 5)
        let wake = try #require(scene.begun.first)
        #expect(scene.begun.count == 1 && wake.hour >= 40)
        #expect(wake.wake.source == .fetch && wake.wake.key == "work" && wake.wake.task == Scene.task(.refresh, at: 40))
        #expect(scene.fetches.map(\.identifier) == ["work"] && scene.fetches.map(\.result) == [.newData])
        #expect(scene.rows.tasks.isEmpty && scene.entries(.taskBegan).count == 1)
        #expect(scene.entries(.taskEnded).map { $0.inputs?["result"] } == ["newData"])
        #expect(scene.entries(.fetchBegan).isEmpty && scene.book.nextDeadline == nil)
    }

    @Test func `R1 R10: A running request is not pending, so its successor can be submitted`() throws {
        var scene = Self.scene()
        scene.result = nil
        try Self.submit(Scene.task(.refresh, at: 100), to: &scene)
        // A second submission replaces the first.
        try Self.submit(Scene.task(.refresh, at: 200), to: &scene)
        #expect(scene.book.pending(of: Scene.app).map(\.task) == [Scene.task(.refresh, at: 200)])
        #expect(Self.refusal(Scene.task(.refresh, "more"), to: &scene)?.type == "/problems/too-many-scheduled-tasks")
        try scene.step { try $0.fetchNow(Scene.app, now: $1) }
        #expect(scene.running == ["work"] && scene.book.pending(of: Scene.app).isEmpty)
        try Self.submit(Scene.task(.refresh, at: 300), to: &scene)
        #expect(scene.status()?.scheduled.map { $0.began != nil } == [true, false])
        #expect(scene.rows.tasks.count == 2)
        try scene.restart()
        #expect(scene.running == ["work"] && scene.book.pending(of: Scene.app).count == 1)
        scene.end(scene.begun[0].wake, .failed, detail: "It was late.")
        #expect(
            scene.running.isEmpty && scene.book.pending(of: Scene.app).map(\.task) == [Scene.task(.refresh, at: 300)])
        #expect(scene.entries(.taskEnded).first?.detail == "work: It was late.")
        #expect(scene.fetches.map(\.result) == [.failed])
    }

    // MARK: - Refusals

    @Test func `R9 R10: The refusal of an undeclared task names the key to add`() {
        var scene = Self.scene(modes: [.transfer])
        for (task, words) in [
            (Scene.task(.refresh), ["'fetch'", "X-Nightshift-BackgroundModes", "org.example.Feed.desktop"]),
            (Scene.task(.processing), ["'processing'", "X-Nightshift-BackgroundModes"]),
            (Scene.task(.continued, "b"), ["'b'", "X-Nightshift-TaskIdentifiers", "org.example.Feed.desktop"]),
            (Scene.task(.continued, "a."), ["'a.'", "X-Nightshift-TaskIdentifiers"]),
        ] {
            let problem = Self.refusal(task, to: &scene, isInFront: true)
            #expect(problem?.type == "/problems/task-not-permitted")
            for word in words { #expect(problem?.detail?.contains(word) == true, "\(task)") }
        }
        #expect(scene.rows.tasks.isEmpty && scene.entries(.taskSubmitted).isEmpty)
    }

    @Test func `R9 R10: The service refuses an invalid task, and a task of a kind that is switched off`() throws {
        var scene = Self.scene()
        var (untitled, long) = (Scene.task(.continued), Scene.task(.continued))
        untitled.title = nil
        long.subtitle = String(repeating: "x", count: Limits.taskTitleLength + 1)
        let name = String(repeating: "x", count: Limits.taskIdentifierLength + 1)
        for task in [untitled, long, Scene.task(.refresh, ""), Scene.task(.refresh, name)] {
            #expect(Self.refusal(task, to: &scene, isInFront: true)?.type == "/problems/invalid")
        }
        #expect(
            Self.refusal(Scene.task(.continued), to: &scene)?.type == "/problems/task-not-permitted", "not in front")
        try scene.step { try $0.change(Scene.app, AppRefreshChange(isOn: false), now: $1) }
        for kind in [ScheduledTask.Kind.refresh, .processing] {
            #expect(Self.refusal(Scene.task(kind), to: &scene)?.type == "/problems/refresh-unavailable")
        }
        // A continued task does not count as background refresh.
        try Self.submit(Scene.task(.continued), to: &scene, isInFront: true)
        #expect(scene.running == ["work"])
    }

    @Test func `R10: Ten processing tasks can wait, and the eleventh is refused`() throws {
        var scene = Self.scene()
        for number in 0..<Limits.processingTasks { try Self.submit(Scene.task(.processing, "a.\(number)"), to: &scene) }
        #expect(Self.refusal(Scene.task(.processing), to: &scene)?.type == "/problems/too-many-scheduled-tasks")
        try Self.submit(Scene.task(.processing, "a.3", at: 9), to: &scene)
        try Self.submit(Scene.task(.refresh, "more"), to: &scene)
        #expect(scene.book.pending(of: Scene.app).count == Limits.processingTasks + 1)
        scene.step { book, now in #expect(book.cancel("a.0", of: Scene.app, now: now) == 1) }
        try Self.submit(Scene.task(.processing), to: &scene)
        scene.step { book, now in #expect(book.cancel(nil, of: Scene.app, now: now) == Limits.processingTasks + 1) }
        #expect(scene.rows.tasks.isEmpty && scene.entries(.taskCancelled).count == Limits.processingTasks + 2)
    }

    @Test func `R9 R10: The service drops a waiting task if the entry no longer permits it`() throws {
        var scene = Self.scene()
        try Self.submit(Scene.task(.processing), to: &scene)
        try Self.submit(Scene.task(.refresh, "more", at: 50), to: &scene)
        scene.install(Scene.manifest(modes: [.processing], tasks: ["work"]))
        #expect(scene.book.pending(of: Scene.app).map(\.task.identifier) == ["work"])
        #expect(
            scene.entries(.taskCancelled).map(\.detail) == [
                "more: the app's desktop entry no longer permits this task."
            ])
        // An entry that is missing for a moment does not withdraw tasks.
        scene.step { $0.read([], now: $1) }
        #expect(scene.rows.tasks.count == 1)
    }

    // MARK: - Processing

    @Test func `R10: A processing task begins on an idle device, and ends when the user returns`() throws {
        var scene = Self.scene()
        scene.result = nil
        try Self.submit(Scene.task(.processing), to: &scene)
        #expect(scene.begun.isEmpty)
        #expect(scene.status()?.scheduled.first?.sentence == ProcessingPlanner.Hold.inUse.sentence)
        scene.step { $0.apply(StateScene.idle(), now: $1) }
        let wake = try #require(scene.begun.first?.wake)
        #expect(wake.source == .processing && wake.key == "work" && wake.task == Scene.task(.processing))
        #expect(scene.running == ["work"] && scene.effects.isEmpty)
        scene.step { $0.apply(DeviceState(), now: $1) }
        scene.step { $0.apply(DeviceState(), now: $1) }
        #expect(scene.effects == [.expire(Scene.app, .processing, "work")])
        scene.end(wake, .failed)
        #expect(scene.running.isEmpty && scene.rows.tasks.isEmpty)
        #expect(scene.entries(.taskEnded).first?.detail == "work: You are using the device again.")
        #expect(scene.fetches.isEmpty && scene.book.planner.apps[Scene.app]?.fetchEnded == nil)
    }

    @Test func `R10: A task waits at most a day for external power after the clock was set back`() throws {
        var scene = Self.scene()
        scene.step { $0.apply(StateScene.idle(power: .battery), now: $1) }
        scene.step { $0.use(Scene.app, isInFront: true, now: $1) }
        scene.step { $0.use(Scene.app, isInFront: false, now: $1) }
        try Self.submit(Scene.task(.processing), to: &scene)
        scene.seconds -= 10 * 86_400
        scene.pass(to: -10 * 24 + 23)
        #expect(scene.begun.isEmpty)
        scene.pass(to: -10 * 24 + 25)
        #expect(scene.begun.count == 1)
    }

    @Test func `R10: The next service finds that a running task continues, has ended, or was lost`() throws {
        for fate in 0..<3 {
            var scene = Self.scene()
            scene.result = nil
            scene.step { $0.apply(StateScene.idle(), now: $1) }
            try Self.submit(Scene.task(.processing), to: &scene)
            let wake = try #require(scene.begun.first?.wake)
            if fate == 1 { scene.endUnheard(wake, .newData) }
            if fate == 2 { scene.lose(wake) }
            try scene.restart()
            #expect(scene.running == (fate == 0 ? ["work"] : []))
            #expect(scene.entries(.taskEnded).map { $0.inputs?["result"] } == [[], ["newData"], [nil]][fate])
            scene.look()
            #expect(scene.begun.count == 1, "a request is one launch")
        }
    }

    // MARK: - Continued tasks

    @Test func `R10: Continued tasks begin at once up to the limit, and further tasks wait in order`() throws {
        var scene = Self.scene()
        scene.result = nil
        let count = Limits.runningContinuedTasks
        for number in 0..<count + 2 {
            scene.pass(to: Double(number))
            try Self.submit(Scene.task(.continued, "a.\(number)"), to: &scene, isInFront: true)
        }
        #expect(scene.begun.map(\.wake.key) == (0..<count).map { "a.\($0)" })
        #expect(scene.begun.allSatisfy { $0.wake.source == .continued && $0.wake.timeout == nil })
        var impatient = Scene.task(.continued)
        impatient.strategy = .fail
        #expect(Self.refusal(impatient, to: &scene, isInFront: true)?.type == "/problems/no-room-for-task")
        scene.end(scene.begun[1].wake, .newData)
        #expect(scene.begun.last?.wake.key == "a.\(count)" && scene.begun.count == count + 1)
        // A task waits for the end of another one with the same identifier, even below the limit.
        for index in [0, 2] { scene.end(scene.begun[index].wake, .newData) }
        #expect(scene.running == ["a.3", "a.4", "a.5"])
        try Self.submit(Scene.task(.continued, "a.5"), to: &scene, isInFront: true)
        #expect(scene.book.pending(of: Scene.app).count == 1 && scene.running.count == 3)
        // The user force-quits the app, which drops the app's waiting continued tasks.
        scene.step { $0.forceQuit(Scene.app, now: $1) }
        #expect(scene.book.pending(of: Scene.app).isEmpty)
    }

    @Test func `R10: The user sees the progress of a continued task, and can cancel it`() throws {
        var scene = Self.scene()
        scene.result = nil
        try Self.submit(Scene.task(.continued), to: &scene, isInFront: true)
        let half = ScheduledTaskProgress(title: "Half", completedUnits: 5, totalUnits: 10)
        try scene.step { try $0.progress("work", half, of: Scene.app, now: $1) }
        try scene.step {
            try $0.progress("work", ScheduledTaskProgress(completedUnits: 6), of: Scene.app, now: $1)
        }
        let shown = scene.status()?.scheduled.first?.progress
        #expect(shown == ScheduledTaskProgress(title: "Half", completedUnits: 6, totalUnits: 10))
        // Frequent reports are not all written.
        #expect(scene.rows.tasks.values.first?.progress == half)
        #expect(throws: Problem.self) {
            try scene.step {
                try $0.progress("work", ScheduledTaskProgress(totalUnits: -1), of: Scene.app, now: $1)
            }
        }
        #expect(throws: Problem.self) { try scene.step { try $0.progress("more", half, of: Scene.app, now: $1) } }
        try scene.step { try $0.cancelForUser("work", of: Scene.app, now: $1) }
        #expect(scene.effects == [.expire(Scene.app, .continued, "work")] && scene.running == ["work"])
        scene.end(scene.begun[0].wake, .failed)
        #expect(scene.entries(.taskEnded).first?.detail == "work: You cancelled it.")
        #expect(throws: Problem.self) { try scene.step { try $0.cancelForUser("work", of: Scene.app, now: $1) } }
    }
}
