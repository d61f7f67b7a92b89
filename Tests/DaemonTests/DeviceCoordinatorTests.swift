import Device
import Foundation
import NightshiftAPI
import Scheduler
import SimulationSupport
import Store
import TestSupport
import Testing
import Transfers

@testable import Daemon

/// Tests of the device coordinator's decisions, their times and their journal entries (mission rows L4, L6; decision
/// 0012).
@Suite(.timeLimit(.minutes(20))) struct DeviceCoordinatorTests {
    @Test func `L6: The coordinator starts with the device conditions and the stored settings`() async throws {
        let scene = try DeviceCoordinatorScene(#""power": "external", "idle": false"#)
        var settings = DeviceSettings()
        settings.overrides = [.power: "battery", .battery: "33"]
        try await scene.store.write { [settings] in try $0.put(settings) }
        try await scene.run {
            let first = try #require(try await scene.journal().first)
            #expect(first.decision == .deviceChanged)
            #expect(first.inputs?["power"] == "battery" && first.inputs?["battery"] == "33")
            #expect(first.inputs?["freeBytes"] == nil)
            let status = await scene.conductor.status()
            #expect(status.settings == settings)
            #expect(status.values.first { $0.key == .power }?.source == .override)
            #expect(status.values.first { $0.key == .idle }?.source == .trace)
        }
    }

    @Test func `R6: The service stores an overridden location, but does not show it`() async throws {
        let scene = try DeviceCoordinatorScene()
        try await scene.run {
            let place = "52.5163,13.3777,20"
            let status = try await scene.conductor.change(DeviceChange(overrides: [.location: place, .warning: "low"]))
            #expect(status.settings.overrides[.location] == DeviceKey.hiddenPlace)
            #expect(status.values.last == DeviceValue(key: .location, value: "set", source: .override))
            #expect(try await scene.store.read { try $0.deviceSettings() }?.overrides[.location] == place)
            #expect(try await scene.journal().last?.detail == "warning: none → low")
            let all = try await "\(scene.journal()) \(status)"
            #expect(!all.contains("52.51") && !all.contains("13.37"))
            do throws(Problem) {
                _ = try await scene.conductor.change(DeviceChange(overrides: [.location: "52.5163;13.3777"]))
                Issue.record("it is no place")
            } catch {
                #expect(!"\(error)".contains("13.37"))
            }
        }
    }

    /// logind does not announce `IdleHint` when somebody logs in on a terminal.
    @Test func `L6: The response to a change of the settings contains the change`() async throws {
        let scene = try DeviceCoordinatorScene()
        try await scene.run {
            // The monitor notices the same changes at the same time, and its decision can come first.
            for number in 0..<200 {
                let value = number.isMultiple(of: 2) ? "external" : "battery"
                let status = try await scene.conductor.change(DeviceChange(overrides: [.power: value]))
                #expect(status.values.first { $0.key == .power }?.value == value, "change \(number)")
            }
        }
    }

    @Test(arguments: [true, false])
    func `L5: Doze does not begin because of an outdated report of logind`(isInUse: Bool) async throws {
        let bus = try await PrivateBus.started()
        let logind = try await MockService(.logind, on: bus, parameters: #"{"IdleHint": true}"#)
        let upower = try await MockService(.upower, on: bus, parameters: #"{"OnBattery": true}"#)
        let scene = try DeviceCoordinatorScene(bus: bus)
        try await scene.run {
            let due = DeviceCoordinatorScene.start + DozeMachine.quietTime
            try await scene.waitForAlarm(at: due)
            if isInUse { try await logind.setUnannounced(["IdleHint": "b false"]) }
            scene.clock.advance(to: due)
            try await eventually("doze, or what keeps the device from it") {
                let doze = await scene.conductor.status().doze
                return doze.phase == .dozing || doze.awakeReason == .inUse
            }
            let expected: [Decision] = [.deviceChanged, isInUse ? .deviceChanged : .dozeBegan]
            #expect(try await scene.decisions() == expected)
        }
        withExtendedLifetime((logind, upower)) {}
    }

    @Test func `L6: Doze and maintenance windows begin and end at the exact seconds`() async throws {
        let scene = try DeviceCoordinatorScene()
        try await scene.run {
            #expect(await scene.conductor.status().doze.awakeReason == .settling)
            var time = DeviceCoordinatorScene.start + DozeMachine.quietTime
            try await scene.waitForAlarm(at: time)
            scene.clock.advance(to: time)
            try await scene.wait(for: .dozing)
            let began = try #require(try await scene.journal().last)
            #expect(began.decision == .dozeBegan && began.time == scene.clock.now().date)
            #expect(began.inputs?["idle"] == "yes" && began.inputs?["held"] == "no")
            var interval = DozeMachine.firstInterval
            for _ in 0..<6 {
                time += interval
                try await scene.waitForAlarm(at: time)
                scene.clock.advance(to: time)
                try await scene.wait(for: .window)
                #expect(await scene.conductor.status().doze.windowReason == .maintenance)
                // No feature has work in this window.
                time += DozeMachine.windowRest
                try await scene.waitForAlarm(at: time)
                scene.clock.advance(to: time)
                try await scene.wait(for: .dozing)
                interval = min(interval * 2, DozeMachine.longestInterval)
            }
            let windows = Array(repeating: [Decision.windowOpened, .windowClosed], count: 6).flatMap(\.self)
            #expect(try await scene.decisions() == [.deviceChanged, .dozeBegan] + windows)
        }
    }

    @Test func `L4: Apps that keep the device awake appear in the status and prevent doze`() async throws {
        let scene = try DeviceCoordinatorScene()
        try await scene.run {
            scene.apps(holding: ["sync", "mail"])
            try await eventually("a holder") { await !scene.conductor.status().holders.isEmpty }
            let held = try #require(try await scene.journal().last)
            #expect(held.decision == .deviceHeldAwake && held.detail == "org.example.App: sync, mail")
            #expect(held.inputs == ["apps": "org.example.App"])
            try await scene.waitForAlarm(at: nil)
            let refusal = await #expect(throws: Problem.self) { try await scene.conductor.request(.dozing) }
            #expect(refusal?.status == 409 && refusal?.detail?.contains("keeps the device awake") == true)
            scene.apps()
            try await eventually("no holder") { await scene.conductor.status().holders.isEmpty }
            try await scene.waitForAlarm(at: DeviceCoordinatorScene.start + DozeMachine.quietTime)
            let released = try #require(try await scene.journal().last)
            #expect(released.decision == .deviceReleased && released.detail == held.detail)
            #expect(try await scene.conductor.request(.dozing).doze.phase == .dozing)
        }
    }

    @Test func `L6: A wake opens a window until its work ends and does not delay the next window`()
        async throws
    {
        let scene = try DeviceCoordinatorScene()
        try await scene.run {
            _ = try await scene.conductor.request(.dozing)
            let next = DeviceCoordinatorScene.start + DozeMachine.firstInterval
            try await scene.waitForAlarm(at: next)
            scene.clock.advance(to: 1_100)
            scene.apps(wakes: 1)
            try await scene.wait(for: .window)
            #expect(await scene.conductor.status().doze.windowReason == .appWoken)
            try await scene.waitForAlarm(at: 1_100 + DozeMachine.longestWindow)
            // The app continues with its own work, which also keeps the window open.
            scene.apps(working: 1)
            scene.clock.advance(to: 1_200)
            scene.apps()
            try await scene.waitForAlarm(at: 1_200 + DozeMachine.windowRest)
            scene.clock.advance(to: 1_200 + DozeMachine.windowRest)
            try await scene.wait(for: .dozing)
            try await scene.waitForAlarm(at: next)
        }
    }

    @Test func `T3: A window stays open while transfers use it, up to its limit`() async throws {
        let scene = try DeviceCoordinatorScene()
        try await scene.run {
            _ = try await scene.conductor.request(.dozing)
            scene.conductor.activityChanged(TransferActivity(discretionary: 3))
            _ = try await scene.conductor.request(.window)
            let end = DeviceCoordinatorScene.start + DozeMachine.longestWindow
            try await scene.waitForAlarm(at: end)
            scene.clock.advance(to: end)
            try await scene.wait(for: .dozing)
            #expect(try await scene.decisions().suffix(2) == [.windowOpened, .windowClosed])
        }
    }

    @Test func `L6: The journal records a change of device conditions with the previous value`() async throws {
        let scene = try DeviceCoordinatorScene()
        try await scene.run {
            _ = try await scene.conductor.request(.dozing)
            // The monitor reports this change, which no client requested.
            scene.monitor.setOverrides([.idle: "no", .power: "external"])
            try await scene.wait(for: .awake)
            let entries = try await scene.journal().suffix(2)
            #expect(entries.map(\.decision) == [.deviceChanged, .dozeEnded])
            #expect(entries.first?.detail == "power: battery → external, idle: yes → no")
            #expect(entries.last?.detail == AwakeReason.inUse.sentence)
            try await scene.waitForAlarm(at: nil)
        }
    }

    @Test func `L6: A window that becomes due during the machine's sleep opens when the machine wakes up`() async throws
    {
        let scene = try DeviceCoordinatorScene()
        try await scene.run {
            _ = try await scene.conductor.request(.dozing)
            try await scene.waitForAlarm(at: DeviceCoordinatorScene.start + DozeMachine.firstInterval)
            _ = try await scene.conductor.change(DeviceChange(overrides: [.sleeping: "yes"]))
            try await scene.waitForAlarm(at: nil)
            scene.clock.sleepMachine(for: 100)
            let status = try await scene.conductor.change(DeviceChange(overrides: [.sleeping: "no"]))
            #expect(status.doze.phase == .window && status.doze.windowReason == .deviceWoke)
            #expect(
                try await scene.decisions().suffix(5)
                    == [.deviceChanged, .deviceSlept, .deviceChanged, .deviceWoke, .windowOpened])
        }
    }

    @Test func `B1: The status shows the free space, which does not cause decisions`() async throws {
        let scene = try DeviceCoordinatorScene()
        try await scene.run {
            let before = try await scene.decisions()
            scene.monitor.setOverrides([.freeBytes: "12345"])
            #expect(await scene.conductor.status().conditions.freeBytes == 12_345)
            // A later decision shows that the entry is missing rather than late.
            scene.monitor.setOverrides([.freeBytes: "12345", .warning: "low"])
            try await eventually("the entry of the warning") {
                try await scene.journal().last?.detail == "warning: none → low"
            }
            #expect(try await scene.decisions().count == before.count + 1)
        }
    }

    @Test(
        arguments: [
            (DeviceChange(backgroundPolicy: BackgroundPolicy(.contiguous), expirationLead: 0.5), "/expirationLead"),
            (
                DeviceChange(backgroundPolicy: BackgroundPolicy(.contiguous), overrides: [.battery: "120"]),
                "/overrides/battery"
            ),
        ])
    func `B1: A change of settings with one invalid value is refused as a whole`(
        change: DeviceChange, pointer: String
    )
        async throws
    {
        let scene = try DeviceCoordinatorScene()
        try await scene.run {
            let before = await scene.conductor.status()
            let refusal = await #expect(throws: Problem.self) { try await scene.conductor.change(change) }
            #expect(refusal?.pointer == pointer)
            #expect(await scene.conductor.status() == before)
            let kept = try await scene.store.read { try $0.deviceSettings() }
            #expect(kept == nil)
        }
    }

    @Test func `B1: The service stores settings, and null removes an override`() async throws {
        let scene = try DeviceCoordinatorScene()
        try await scene.run {
            let policy = BackgroundPolicy(.contiguous, seconds: 60)
            _ = try await scene.conductor.change(
                DeviceChange(
                    backgroundPolicy: policy, expirationLead: 7, overrides: [.battery: "5", .idle: "no"],
                    followsFront: false))
            let none: String? = nil
            let status = try await scene.conductor.change(DeviceChange(overrides: [.battery: none]))
            #expect(status.settings.overrides == [.idle: "no"])
            #expect(status.conditions.batteryPercentage == 80)
            let kept = try await scene.store.read { try $0.deviceSettings() }
            #expect(kept == status.settings && kept?.backgroundPolicy == policy && kept?.expirationLead == 7)
            #expect(kept?.followsFront == false)
        }
    }

    @Test func `L6: The next service continues to doze until the planned window`() async throws {
        let scene = try DeviceCoordinatorScene()
        try await scene.run { _ = try await scene.conductor.request(.dozing) }
        let clock = scene.clock.afterCrash()
        clock.advance(to: 1_500)
        let successor = try scene.successor(clock: clock)
        try await successor.run {
            #expect(await successor.conductor.status().doze.phase == .dozing)
            try await successor.waitForAlarm(at: DeviceCoordinatorScene.start + DozeMachine.firstInterval)
        }
    }

    @Test func `L6: After a reboot the window opens at the planned wall-clock time`() async throws {
        let scene = try DeviceCoordinatorScene()
        try await scene.run { _ = try await scene.conductor.request(.dozing) }
        let clock = scene.clock.afterReboot(bootID: "other", off: 100)
        let successor = try scene.successor(clock: clock)
        try await successor.run {
            #expect(await successor.conductor.status().doze.phase == .dozing)
            try await successor.waitForAlarm(at: clock.now().bootSeconds + DozeMachine.firstInterval - 100)
        }
    }

    @Test func `L6: The next service ends doze if the device is in use`() async throws {
        let scene = try DeviceCoordinatorScene()
        try await scene.run { _ = try await scene.conductor.request(.dozing) }
        let successor = try scene.successor(#""power": "external", "idle": false"#)
        try await successor.run {
            #expect(await successor.conductor.status().doze.phase == .awake)
            let decisions = try await successor.decisions()
            #expect(decisions.suffix(2) == [.deviceChanged, .dozeEnded])
        }
    }

    @Test func `B1: The coordinator refuses a setting that it cannot write, and keeps its decisions`() async throws {
        let scene = try DeviceCoordinatorScene()
        try await scene.run {
            try scene.store.close()
            let change = DeviceChange(expirationLead: 9, overrides: [.battery: "5"])
            let refusal = await #expect(throws: Problem.self) { try await scene.conductor.change(change) }
            #expect(refusal?.status == 503)
            let status = await scene.conductor.status()
            #expect(status.settings == DeviceSettings() && status.conditions.batteryPercentage == 80)
            // Doze follows the device, even if the disk fails.
            #expect(try await scene.conductor.request(.dozing).doze.phase == .dozing)
            #expect(scene.log.troubles.contains { $0.contains("The store failed") })
        }
    }

    @Test func `B1: A stopped coordinator makes no decisions and has no timer`() async throws {
        let scene = try DeviceCoordinatorScene()
        let before = try await scene.run {
            try await scene.waitForAlarm(at: DeviceCoordinatorScene.start + DozeMachine.quietTime)
            return try await scene.decisions()
        }
        scene.apps(holding: ["late"])
        scene.monitor.setOverrides([.power: "external"])
        try await scene.waitForAlarm(at: nil)
        #expect(try await scene.decisions() == before)
    }

    @Test func `L6: A feature never receives an older device state after a newer one`() async throws {
        var scene = try DeviceCoordinatorScene()
        let (isHeld, mayGoOn, heard) = (Watched(false), Watched(false), Watched<[DozePhase]>([]))
        scene.receivers.states = [
            { moment in
                guard moment.phase == .dozing else { return }
                isHeld.update { $0 = true }
                try? await mayGoOn.wait(for: "the newer one") { $0 }
            },
            { moment in heard.update { $0.append(moment.phase) } },
        ]
        let device = scene
        try await device.run {
            let dozing = Task { try await device.conductor.request(.dozing) }
            try await isHeld.wait(for: "the first part") { $0 }
            let waking = Task { try await device.conductor.request(.awake) }
            try await device.wait(for: .awake)
            for _ in 0..<200 { await Task.yield() }
            mayGoOn.update { $0 = true }
            _ = try await (dozing.value, waking.value)
            #expect(heard.read { $0 }.suffix(2) == [.dozing, .awake])
        }
    }
}
