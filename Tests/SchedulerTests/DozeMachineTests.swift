import NightshiftAPI
import Scheduler
import Testing

@Suite struct DozeMachineTests {
    /// Returns a scene on battery that is idle from second 0 and dozes from second 60.
    private func dozing() -> DozeScene {
        var scene = DozeScene()
        scene.device {
            $0.power = .battery
            $0.isIdle = true
        }
        scene.wait(until: 60)
        #expect(scene.changes() == ["doze 60"])
        return scene
    }

    @Test(
        arguments: [
            (PowerSource.battery, true, ["doze 60"]), (.battery, false, []), (.external, true, []),
            (.external, false, []),
        ])
    func `L5: Doze begins 60 s after the last use, on battery only`(power: PowerSource, idle: Bool, log: [String]) {
        var scene = DozeScene()
        scene.device {
            $0.power = power
            $0.isIdle = idle
        }
        scene.wait(until: 300)
        #expect(scene.changes() == log)
    }

    @Test func `L5: Doze begins only after a reading of device use from the time when doze is due`() {
        var scene = DozeScene()
        scene.answersAtOnce = false
        scene.device {
            $0.power = .battery
            $0.isIdle = true
        }
        scene.wait(until: 65)
        #expect(scene.changes() == [] && scene.machine.readingDue == 60)
        scene.confirm(asOf: 59)
        #expect(scene.changes() == [])
        scene.confirm(asOf: 60)
        #expect(scene.changes() == ["doze 65"] && scene.machine.readingDue == nil)
    }

    @Test func `L5: A reading that shows use of the device prevents doze`() {
        var scene = DozeScene()
        scene.answersAtOnce = false
        scene.device {
            $0.power = .battery
            $0.isIdle = true
        }
        scene.wait(until: 65)
        scene.device { $0.isIdle = false }
        scene.confirm(asOf: 60)
        scene.wait(until: 1_000)
        #expect(scene.changes() == [] && scene.machine.awakeReason == .inUse && scene.machine.readingDue == nil)
    }

    @Test func `L5: The reading at the end of a window ends doze if the device is in use`() {
        for isInUse in [false, true] {
            var scene = dozing()
            scene.answersAtOnce = false
            scene.wait(until: 1_000)
            #expect(scene.changes() == ["window: maintenance 960"] && scene.machine.readingDue == 970)
            if isInUse { scene.device { $0.isIdle = false } }
            scene.confirm(asOf: 970)
            #expect(scene.changes() == [isInUse ? "awake: inUse 1000" : "closed 1000"])
        }
    }

    @Test func `L5: Work that begins while a reading is pending keeps the window open`() {
        var scene = dozing()
        scene.answersAtOnce = false
        scene.wait(until: 970)
        scene.activity(busy: true)
        scene.confirm(asOf: 970)
        #expect(scene.changes() == ["window: maintenance 960"] && scene.machine.phase == .window)
    }

    @Test func `L5: Use of the device restarts the 60 s before doze`() {
        var scene = DozeScene()
        scene.device {
            $0.power = .battery
            $0.isIdle = true
        }
        scene.wait(until: 59)
        scene.device { $0.isIdle = false }
        scene.wait(until: 70)
        scene.device { $0.isIdle = true }
        scene.wait(until: 200)
        #expect(scene.changes() == ["doze 130"])
    }

    @Test func `L5: Windows open after 15, 30, 60, 120 and 240 minutes, and then every four hours`() {
        var scene = dozing()
        scene.wait(until: 60_000)
        let opened = scene.changes().filter { $0.hasPrefix("window") }
        // Each interval begins at the end of the previous window, which closes 10 s after its start.
        var expected: [String] = []
        var time = 60
        for interval in [900, 1_800, 3_600, 7_200, 14_400, 14_400, 14_400] {
            time += interval
            expected.append("window: maintenance \(time)")
            time += 10
        }
        #expect(opened == expected)
    }

    @Test func `L5: A window closes 10 s after its work ends`() {
        var scene = dozing()
        scene.activity(busy: true)
        scene.wait(until: 1_000)
        scene.activity()
        scene.wait(until: 1_100)
        #expect(scene.changes() == ["window: maintenance 960", "closed 1010"])
    }

    @Test func `L5: Work that pauses for less than 10 s keeps the window open`() {
        var scene = dozing()
        scene.activity(busy: true)
        scene.wait(until: 1_000)
        scene.activity()
        scene.wait(until: 1_009)
        scene.activity(busy: true)
        scene.wait(until: 1_100)
        scene.activity()
        scene.wait(until: 1_200)
        #expect(scene.changes() == ["window: maintenance 960", "closed 1110"])
    }

    @Test func `L5: A window closes after five minutes, whatever still runs`() {
        var scene = dozing()
        scene.activity(busy: true)
        scene.wait(until: 2_000)
        #expect(scene.changes() == ["window: maintenance 960", "closed 1260"])
        #expect(scene.machine.nextDeadline == 3_060)
    }

    @Test func `L5: A window that a wake from sleep opens does not delay the next window`() {
        var scene = dozing()
        scene.wait(until: 100)
        scene.device { $0.isSleeping = true }
        scene.wait(until: 500)
        scene.device { $0.isSleeping = false }
        scene.wait(until: 970)
        #expect(scene.changes() == ["window: deviceWoke 500", "closed 510", "window: maintenance 960", "closed 970"])
    }

    @Test func `L5: A sleep that the service notices only after the wake also opens a window`() {
        var scene = dozing()
        scene.wait(until: 100)
        scene.device { $0.sleeps += 1 }
        scene.wait(until: 500)
        #expect(scene.changes() == ["window: deviceWoke 100", "closed 110"])
    }

    @Test func `L5: A sleeping machine opens a due window only when it wakes`() {
        var scene = dozing()
        scene.device { $0.isSleeping = true }
        #expect(scene.machine.nextDeadline == nil)
        scene.wait(until: 5_000)
        scene.device { $0.isSleeping = false }
        #expect(scene.changes() == ["window: maintenance 5000"])
    }

    @Test func `L5: A wake of an app opens a window`() {
        var scene = dozing()
        scene.wait(until: 400)
        scene.activity(wakes: true)
        scene.wait(until: 402)
        scene.activity()
        scene.wait(until: 500)
        #expect(scene.changes() == ["window: appWoken 400", "closed 412"])
    }

    @Test(arguments: [(true, false), (false, true)])
    func `L5: Wakes of an app do not open a window while the machine sleeps`(held: Bool, wakes: Bool) {
        var scene = dozing()
        scene.device { $0.isSleeping = true }
        for _ in 0..<3 { scene.activity(held: held, busy: true, wakes: wakes) }
        #expect(scene.changes() == [])
        scene.device { $0.isSleeping = false }
        #expect(scene.changes().count == 1)
        #expect(scene.machine.phase == .window)
    }

    @Test(arguments: [
        (false, PowerSource.battery, "awake: inUse 400"), (true, .external, "awake: externalPower 400"),
    ])
    func `L5: Use of the device and external power end doze at once`(idle: Bool, power: PowerSource, end: String) {
        var scene = dozing()
        scene.wait(until: 400)
        scene.device {
            $0.isIdle = idle
            $0.power = power
        }
        #expect(scene.changes() == [end])
        #expect(scene.machine.phase == .awake)
    }

    @Test func `L5: The next doze begins with short intervals again`() {
        var scene = dozing()
        scene.wait(until: 8_000)
        scene.device { $0.isIdle = false }
        scene.device { $0.isIdle = true }
        _ = scene.changes()
        scene.wait(until: 8_000 + 60 + 900)
        #expect(scene.changes() == ["doze 8060", "window: maintenance 8960"])
    }

    @Test func `L5: An app that holds the device awake prevents doze`() {
        var scene = DozeScene()
        scene.activity(held: true)
        scene.device {
            $0.power = .battery
            $0.isIdle = true
        }
        scene.wait(until: 500)
        #expect(scene.changes() == [])
        #expect(scene.machine.awakeReason == .held)
        scene.activity()
        scene.wait(until: 700)
        #expect(scene.changes() == ["doze 560"])
    }

    @Test func `L5: An app that holds the device awake keeps a window open, and doze continues afterwards`() {
        var scene = dozing()
        scene.wait(until: 400)
        scene.activity(held: true, busy: true)
        scene.wait(until: 5_000)
        #expect(scene.changes() == ["window: appWoken 400"])
        scene.activity()
        scene.wait(until: 5_020)
        #expect(scene.changes().first == "closed 5000")
        #expect(scene.machine.phase == .dozing)
    }

    @Test func `L5: Use of the device ends doze even if an app holds the device awake`() {
        var scene = dozing()
        scene.activity(held: true, busy: true)
        scene.device { $0.isIdle = false }
        #expect(scene.changes() == ["window: appWoken 60", "awake: inUse 60"])
    }

    // MARK: - Requests

    @Test func `L5: Doze can be requested on external power or during use, but not with both`() {
        var plugged = DozeScene()
        #expect(plugged.request(.dozing) == .inUse)
        plugged.device { $0.isIdle = true }
        #expect(plugged.request(.dozing) == nil)
        #expect(plugged.changes() == ["doze 0"])
        var used = DozeScene()
        used.device { $0.power = .battery }
        #expect(used.request(.dozing) == nil)
        #expect(used.changes() == ["doze 0"])
    }

    @Test func `L5: Use of the device ends requested doze`() {
        var scene = DozeScene()
        scene.device {
            $0.power = .battery
            $0.isIdle = true
        }
        #expect(scene.request(.dozing) == nil)
        scene.wait(until: 100)
        scene.device { $0.isIdle = false }
        #expect(scene.changes() == ["doze 0", "awake: inUse 100"])
    }

    @Test func `L5: After a request to stay awake, the device does not doze before its next use`() {
        var scene = dozing()
        scene.wait(until: 100)
        #expect(scene.request(.awake) == nil)
        scene.wait(until: 10_000)
        #expect(scene.changes() == ["awake: requested 100"])
        scene.device { $0.isIdle = false }
        scene.device { $0.isIdle = true }
        scene.wait(until: 10_060)
        #expect(scene.changes() == ["doze 10060"])
    }

    @Test func `L5: A window can be requested only during doze`() {
        var scene = DozeScene()
        #expect(scene.request(.window) == .inUse)
        scene = dozing()
        scene.wait(until: 100)
        #expect(scene.request(.window) == nil)
        #expect(scene.request(.window) == nil)
        scene.wait(until: 200)
        #expect(scene.changes() == ["window: requested 100", "closed 110"])
    }

    @Test func `L5: Doze can be requested in a window unless an app holds the device awake`() {
        var scene = dozing()
        scene.activity(busy: true)
        scene.wait(until: 970)
        #expect(scene.request(.dozing) == nil)
        #expect(scene.changes() == ["window: maintenance 960", "closed 970"])
        var held = DozeScene()
        held.device { $0.power = .battery }
        held.activity(held: true)
        #expect(held.request(.dozing) == .held)
    }

    // MARK: - Stored state

    @Test func `L5: A restarted service continues with the stored state of doze`() throws {
        var scene = dozing()
        scene.wait(until: 1_500)
        let kept = try JSON.decode(DozeMachine.State.self, from: try JSON.encode(scene.machine.state))
        var next = DozeScene(from: 1_500)
        next.machine = DozeMachine(state: kept)
        next.conditions = scene.conditions
        next.device { _ in }
        next.wait(until: 3_000)
        scene.wait(until: 3_000)
        #expect(next.changes() == ["window: maintenance 2770", "closed 2780"])
        #expect(next.machine.state == scene.machine.state)
    }

    @Test func `L5: A reboot does not change how far away the next window is`() {
        var scene = dozing()
        scene.wait(until: 100)
        // The machine was off for 200 s and has now been on for 20 s.
        var next = DozeScene(from: 20)
        next.machine = DozeMachine(state: DozeMachine.moved(scene.machine.state, by: 20 - 300))
        next.conditions = scene.conditions
        next.device { _ in }
        next.wait(until: 1_000)
        #expect(next.changes() == ["window: maintenance 680", "closed 690"])
        #expect(next.machine.phase == .dozing)
    }
}
