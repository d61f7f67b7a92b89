import Foundation
import NightshiftAPI
import Refresh
import Scheduler
import Store
import Testing

/// R10: The frequency of processing tasks that submit their successors.
@Suite struct StateProcessingTests {
    private typealias Scene = StateScene

    /// Returns a scene with an idle device on external power.
    private static func scene() -> Scene {
        var scene = Scene()
        scene.install(Scene.manifest(interval: .minimum, tasks: ["work", "a.*"]))
        scene.step { $0.apply(StateScene.idle(), now: $1) }
        return scene
    }

    /// Lets time pass. Each task submits the next one while it runs.
    private static func pass(
        _ scene: inout Scene, to end: Double, successor: (Int) -> String = { _ in "work" }
    ) throws {
        var count = scene.begun.count
        try scene.step {
            try $0.submit(Scene.task(.processing, successor(count)), for: Scene.app, isInFront: false, now: $1)
        }
        while scene.hour < end {
            scene.pass(to: min(end, scene.hour + 1.0 / 120))
            guard scene.begun.count > count else { continue }
            count = scene.begun.count
            try scene.step {
                try $0.submit(Scene.task(.processing, successor(count)), for: Scene.app, isInFront: false, now: $1)
            }
        }
    }

    private static func hours(_ scene: Scene) -> [Double] { scene.begun.map { ($0.hour * 10).rounded() / 10 } }

    @Test func `R10: The pause before a task that submits its successor doubles with each run`() throws {
        var scene = Self.scene()
        try Self.pass(&scene, to: 24)
        #expect(Self.hours(scene) == [0, 0.3, 0.8, 1.8, 3.8, 7.8, 15.8, 23.8])
        let waits = try #require(scene.status()?.scheduled.last)
        #expect(waits.sentence == ProcessingPlanner.Hold.distance.sentence)
        #expect(try #require(waits.until) > Date(timeIntervalSince1970: Scene.start + 31 * 3_600))
        #expect(scene.book.nextDeadline == waits.until?.timeIntervalSince1970)
    }

    @Test func `R10: The pause survives a restart, and a night without a run ends it`() throws {
        var scene = Self.scene()
        try Self.pass(&scene, to: 2)
        #expect(scene.begun.count == 4)
        try scene.restart()
        scene.pass(to: 3.5)
        #expect(scene.begun.count == 4)
        scene.pass(to: 4)
        #expect(scene.begun.count == 5)
        scene.pass(to: 20)
        try Self.pass(&scene, to: 20.5)
        #expect(Self.hours(scene).suffix(2) == [20, 20.3])
    }

    @Test func `R10: Tasks with other names share the budget of their app`() throws {
        var scene = Self.scene()
        try Self.pass(&scene, to: 24) { "a.\($0)" }
        // The runs may use an hour at the start and an hour per day, and each run counts as a minute.
        #expect((110...121).contains(scene.begun.count), "\(scene.begun.count) runs")
        #expect(scene.status()?.scheduled.last?.sentence == ProcessingPlanner.Hold.budget.sentence)
    }

    @Test func `R10: Different waiting tasks run one after the other without pauses`() throws {
        var scene = Self.scene()
        for number in 0..<Limits.processingTasks {
            try scene.step {
                try $0.submit(Scene.task(.processing, "a.\(number)"), for: Scene.app, isInFront: false, now: $1)
            }
        }
        scene.pass(to: 0.1)
        #expect(scene.begun.count == Limits.processingTasks)
    }

    @Test func `R10: The pause does not change if the clock is set back`() throws {
        var scene = Self.scene()
        try Self.pass(&scene, to: 1)
        #expect(scene.begun.count == 3)
        scene.setClock(ahead: -10)
        scene.look()
        scene.pass(to: -10 * 24 + 3)
        #expect(scene.begun.count == 4)
    }
}
