import Apps
import Foundation
import NightshiftAPI
import Store
import TestSupport
import Testing

/// Tests that a starting service knows the same about a process as its previous run (mission rows L1, L3, T9).
@Suite struct AdoptionMachineTests {
    /// The properties that a service determines again when it starts. All other properties must be in the record. The
    /// service loses a new property that is missing both here and in the record.
    private static let foundOut: Set = [
        "record",
        // The service reads these from the desktop entry, the settings and the device.
        "isInstalled", "wakeLimit", "modes", "hasWakeCommand", "terms", "device",
        // After the death of a service no process is frozen and no connection exists.
        "phase", "isConnected",
        // The service derives this from the clock and the record's last number.
        "nextNumber",
        // The service reads these from the store.
        "wanted", "finished",
        // Processes that connect again report their background tasks again.
        "unconfirmed", "confirmBy",
        // The service derives these from the crashes in the record.
        "hasToldPause", "faultPauseEnd", "sleptSeconds",
        // A failed suspension is tried again when the app is adopted.
        "suspendAgain", "suspensionPause",
    ]

    @Test func `L1: After a restart the machine determines again all properties that its record lacks`() {
        let labels = Mirror(reflecting: TestApp().machine).children.compactMap(\.label)
        #expect(Set(labels) == Self.foundOut)
    }

    @Test func `L1: After a restart the service suspends, and does not end, an app without the library`() {
        var app = TestApp()
        app.feed { $0.launch(background: false, arguments: [], now: $1) }
        app.spawned()
        app.pass(AppMachine.connectLimit)
        app.feed { $0.sendToBackground(now: $1) }
        #expect(app.state == .suspended)

        app.restartService(isAlive: true)
        #expect(app.state == .suspended && app.taken.contains(.freeze), "nobody is waited for who cannot connect")
        app.feed { $0.bringToFront(now: $1) }
        #expect(app.state == .active && app.commands.isEmpty)
        app.pass(AppMachine.connectLimit)
        app.feed { $0.sendToBackground(now: $1) }
        app.pass(AppMachine.backgroundLimit * 10)
        #expect(app.state == .suspended)
        #expect(!app.all.contains(.kill))
        #expect(app.machine.record.lastExit == nil)
    }

    @Test func `L1: A process launched just before the service died may still link the library`() {
        var app = TestApp()
        app.feed { $0.launch(background: true, arguments: [], now: $1) }
        app.spawned()
        app.pass(1)
        app.restartService(isAlive: true)
        #expect(app.state == .background && !app.taken.contains(.freeze))
        app.connected()
        #expect(app.state == .suspended)
        #expect(app.commands.isEmpty, "it was launched into the background and knows that")
    }

    @Test func `L3: The next service sends pending commands again once, with their full time`() {
        var app = TestApp()
        app.launchedByUser()
        app.feed { $0.sendToBackground(now: $1) }
        let told = app.commands
        app.pass(4)
        app.restartService(isAlive: true)
        app.pass(10)
        app.connected()
        #expect(app.commands == told)
        app.pass(4)
        #expect(!app.all.contains(.kill))
        app.pass(2)
        #expect(app.taken == [.kill])
    }

    @Test func `L1: The next service continues a quit and records its cause`() {
        var app = TestApp()
        app.launchedByUser()
        app.feed { $0.quit(force: false, now: $1) }
        app.pass(2)
        app.restartService(isAlive: true)
        #expect(!app.taken.contains(.kill))
        app.connected()
        #expect(app.commands.map(\.action) == [.terminate])
        app.pass(AppMachine.quitLimit)
        #expect(app.taken == [.kill])
        // The service dies again before the process is gone.
        app.restartService(isAlive: true)
        #expect(app.taken == [.kill])
        app.restartService(isAlive: false)
        #expect(app.machine.record.lastExit?.cause == .quit)
    }

    @Test func `L7: The next service requests a pending snapshot again`() {
        var app = TestApp()
        app.launchedByUser()
        app.leave()
        #expect(app.commands.map(\.action) == [.snapshot])
        app.restartService(isAlive: true)
        app.connected()
        #expect(app.commands.map(\.action) == [.snapshot])
        app.acknowledgeAll()
        #expect(app.state == .suspended)
    }

    @Test func `L2: A command keeps its task when the service and the caller are gone`() {
        var app = TestApp(isInstalled: false)
        let process = StoredProcess(processID: 4_711, startTime: 7, bootID: "boot", isManaged: true)
        app.feed { $0.adoptedCommand(process, now: $1) }
        #expect(app.begin(1) == nil)
        app.pass(100)
        app.restartService(isAlive: true)
        app.pass(AppMachine.connectLimit * 2)
        #expect(app.state == .background && app.status.tasks.count == 1 && !app.all.contains(.freeze))
        #expect(app.remaining == 40)
        app.pass(35)
        #expect(app.taken.contains(.terminate), "its time is nearly over")
    }

    @Test func `L1: The numbers of commands increase even if the clock was set back`() {
        var app = TestApp()
        app.launchedByUser()
        app.leave()
        let last = app.commands.last?.number ?? 0
        app.acknowledgeAll()
        app.now.wallSeconds -= 86_400
        app.restartService(isAlive: true, firstNumber: 1)
        app.connected()
        app.feed { $0.bringToFront(now: $1) }
        #expect(app.commands.allSatisfy { $0.number > last } && !app.commands.isEmpty)
    }

    @Test func `L1: The service fills in missing fields of an old record as the old version did`() throws {
        var app = TestApp()
        app.launchedByUser()
        app.leave()
        app.acknowledgeAll()
        var fields = try #require(
            JSONSerialization.jsonObject(with: JSONEncoder().encode(app.machine.record)) as? [String: Any])
        #expect(fields.removeValue(forKey: "processState") != nil)
        let record = try JSONDecoder().decode(AppRecord.self, from: JSONSerialization.data(withJSONObject: fields))
        app.machine = AppMachine(record: record, isInstalled: true, wakeLimit: 30, firstNumber: 1_000)
        app.feed { $0.recover(isAlive: true, now: $1) }
        #expect(app.state == .background)
        app.connected()
        app.feed { $0.bringToFront(now: $1) }
        #expect(app.commands.map(\.state).suffix(2) == [.inactive, .active])
    }

    /// Feeds random inputs, ends the service, and compares the state of the next service.
    @Test(arguments: 1...60) func `L1: After random inputs the next service has the same state`(seed: UInt64) throws {
        var walk = AppWalk(seed: seed, isSteady: seed.isMultiple(of: 2))
        for _ in 0..<40 {
            for _ in 0..<15 { walk.step() }
            if walk.hasFailed { return }
            guard walk.process != nil else { continue }
            let before = walk.machine.record
            let kept = try JSONDecoder().decode(AppRecord.self, from: JSONEncoder().encode(before))
            #expect(kept == before)
            var next = AppMachine(
                record: kept, isInstalled: walk.machine.isInstalled, wakeLimit: 30, firstNumber: 1)
            next.terms = walk.terms
            let actions = next.apply(walk.phase, now: walk.now) + next.recover(isAlive: true, now: walk.now)
            let after = next.record
            #expect(Facts(after) == Facts(before), "seed \(seed)")
            // A suspended app runs again for a moment, which counts as another background run.
            if before.state != .suspended {
                #expect(after.processState?.hasToldLocks == before.processState?.hasToldLocks)
            }
            #expect(after.process == before.process && after.background.tasks == before.background.tasks)
            #expect(next.background(now: walk.now).policy == walk.machine.background(now: walk.now).policy)
            // A process that had a limit still has one, and a suspended app is about to be suspended again. The service
            // kills a process again at once that was being killed; such a process has no other deadline.
            if before.state == .suspended {
                if before.processState?.ending == nil {
                    #expect(actions.contains(.freeze) || next.nextDeadline != nil, "seed \(seed)")
                } else {
                    #expect(actions.contains(.kill), "seed \(seed)")
                }
            }
        }
    }

    /// The properties that must survive a restart of the service.
    private struct Facts: Equatable {
        var hasConnected, isCommand, isBackgroundLaunch: Bool
        var launchedAt: Double?
        var lastCommand: Int64
        var commands: [ProcessCommand]
        var wakes: [WantedWake]
        var handling: [Int64?]
        var ending: ExitCause?
        var wantsSnapshot: Bool

        init(_ record: AppRecord) {
            let state = record.processState ?? StoredProcessState()
            hasConnected = state.hasConnected
            isCommand = state.isCommand
            isBackgroundLaunch = state.isBackgroundLaunch
            launchedAt = state.launchedAt
            lastCommand = state.lastCommand
            commands = state.commands.map(\.command).filter { $0.action != .snapshot }
            wakes = state.begun.map(\.wake)
            handling = state.begun.map(\.command)
            ending = state.ending?.cause
            wantsSnapshot = state.needsSnapshot || state.commands.contains { $0.command.action == .snapshot }
        }
    }
}
