import Apps
import NightshiftAPI
import Operations
import Store
import Synchronization
import TestSupport
import Testing
import Transfers

/// Tests of an app that changes between foreground and background while it adds tasks. An earlier version got this
/// wrong, because it made two separate queries, and unblocked tasks separately after it had written the app's row
/// (decision 0035).
@Suite(.timeLimit(.minutes(20))) struct InterleavingTests {
    @Test(arguments: UInt64(1)...8)
    func `Readers never see a blocked task of an app in the foreground`(
        seed: UInt64
    ) async throws {
        let scene = try await OperationScene()
        let process = try await scene.launch()
        let session = try await scene.attach(process)
        let isOver = Watched(false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while !isOver.read({ $0 }), !Task.isCancelled {
                    let (app, tasks) = try await scene.snapshot()
                    guard let app, app.state == .active || app.state == .inactive else { continue }
                    let held = tasks.filter { $0.isDiscretionForced || $0.wait?.reason == .relaunchDelay }
                    #expect(held.isEmpty, "seed \(seed): held although it is in front: \(held.map(\.taskIdentifier))")
                }
            }
            try await withThrowingTaskGroup(of: Void.self) { work in
                work.addTask {
                    var random = SplitMix64(seed: seed)
                    for _ in 0..<40 {
                        let state: AppState = Bool.random(using: &random) ? .active : .background
                        try await scene.apps.change(process: process, to: state)
                        await Self.step(&random)
                    }
                }
                for adder in 0..<3 {
                    work.addTask {
                        var random = SplitMix64(seed: seed &* 31 &+ UInt64(adder))
                        for number in 0..<20 {
                            _ = try await scene.add([Int64(adder * 100 + number + 1)], in: session)
                            await Self.step(&random)
                        }
                    }
                }
                try await work.waitForAll()
            }
            isOver.update { $0 = true }
            try await group.waitForAll()
        }
        #expect(try await scene.tasks().count == 60)
        try await scene.end()
    }

    /// A test in which the user opens the app for a moment while the app goes to the background. Only tasks that were
    /// added before the opening are unblocked.
    @Test(arguments: UInt64(1)...4)
    func `A task that is added in the background after a brief foreground visit is blocked`(seed: UInt64) async throws {
        let scene = try await OperationScene()
        let process = try await scene.launch()
        let session = try await scene.attach(process)
        try await scene.apps.change(process: process, to: .background)
        var random = SplitMix64(seed: seed)
        for number in 1...25 {
            let (apps, yields) = (scene.apps, Int.random(in: 0...3, using: &random))
            async let look: Void = apps.change(process: process, to: .active)
            for _ in 0..<yields { await Task.yield() }
            try await apps.change(process: process, to: .background)
            let id = try await scene.add([Int64(number)], in: session)[0]
            try await look
            let (app, tasks) = try await scene.snapshot()
            let task = try #require(tasks.first { $0.id == id })
            // The opening came either first or last. If it came last, every task is unblocked.
            #expect(task.isDiscretionForced == app?.isInBackground, "seed \(seed), task \(number)")
            try await apps.change(process: process, to: .background)
        }
        try await scene.end()
    }

    private static func step(_ random: inout SplitMix64) async {
        for _ in 0..<Int.random(in: 0...4, using: &random) { await Task.yield() }
    }
}
