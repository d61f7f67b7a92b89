import Foundation
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// Tests of tasks that wait for a device condition, and of running tasks while the device changes.
    @Suite struct ConditionTests {
        @Test func `A forbidden task waits until the device allows it, and then starts at once`() async {
            await #expect(processExitsWith: .success) {
                for (reason, rule, bad) in Weather.forbidding {
                    await Simulation.run("held by \(reason)") { world in
                        let url = Story.serve(world, size: 1_000)
                        await world.start()
                        await world.change(bad)
                        let id = await world.enqueue(world.request(url, adjust: rule))
                        let since = world.now.date
                        await world.advance(by: 2 * 86_400)
                        let status = await world.status(id)
                        #expect(status?.state == .waiting, "\(reason)")
                        #expect(status?.wait?.reason == reason)
                        #expect(status?.wait?.since == since, "\(reason)")
                        #expect(world.transport.begun.isEmpty, "\(reason)")
                        // A task that waits only for the device needs no timer.
                        #expect(world.clock.sleepers <= 1)
                        let moment = world.now.bootSeconds
                        await world.change { $0 = DeviceState() }
                        #expect(world.transport.begun.map(\.time) == [moment], "\(reason)")
                        await world.advance(by: 5)
                        #expect(await world.status(id)?.state == .completed)
                    }
                }
            }
        }

        @Test func `A condition interrupts a running transfer, and the transfer later keeps every byte`() async {
            await #expect(processExitsWith: .success) {
                for (reason, rule, bad) in Weather.forbidding {
                    await Simulation.run("interrupted by \(reason)") { world in
                        let url = Story.serve(world, size: 9_000_000)
                        world.transport.setBandwidth(1_000_000)
                        await world.start()
                        let id = await world.enqueue(world.request(url, adjust: rule))
                        let free = await world.enqueue(world.request(Story.serve(world, name: "free", size: 9_000_000)))
                        await world.advance(by: 3)
                        let at = world.now.date
                        await world.change(bad)
                        let held = await world.status(id)
                        #expect(held?.wait?.reason == reason)
                        #expect(held?.wait?.since == at)
                        let received = held?.countOfBytesReceived ?? 0
                        #expect(received > 2_000_000)
                        await world.advance(by: 600)
                        #expect(await world.status(id)?.countOfBytesReceived == received)
                        if reason != .network { #expect(await world.status(free)?.state == .completed) }
                        let entry = await world.journal().last { $0.task == id }
                        #expect(entry?.decision == .held)
                        #expect(entry?.wait?.reason == reason)
                        #expect(entry?.inputs?.isEmpty == false, "\(reason)")
                        await world.change { $0 = DeviceState() }
                        let ranges = world.transport.begun.compactMap { $0.request.headers.first("Range") }
                        #expect(ranges.first == "bytes=\(received)-")
                        await world.advance(by: 60)
                        let done = await world.status(id)
                        #expect(done?.state == .completed)
                        #expect(done?.attempts == 2)
                        #expect(done?.restarts == 0)
                        // The interruption was not a failure.
                        #expect(done?.lastError == nil)
                    }
                }
            }
        }

        @Test func `A forbidden network never fails a task, but the resource timeout does`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("forbidden for long") { world in
                    let url = Story.serve(world, size: 1_000)
                    await world.start()
                    await world.change {
                        $0.conditions.network.kind = .cellular
                        $0.conditions.network.isExpensive = true
                    }
                    let rules: [(inout TaskRequest) -> Void] = [
                        { $0.allowsCellularAccess = false }, { $0.allowsExpensiveNetworkAccess = false },
                        {
                            $0.allowsCellularAccess = false
                            $0.isDiscretionary = true
                        },
                    ]
                    let ids = await world.enqueue(
                        (0..<60).map { number in world.request(url) { rules[number % 3](&$0) } })
                    let brief = await world.enqueue(
                        world.request(url) {
                            $0.allowsExpensiveNetworkAccess = false
                            $0.resourceTimeout = 3_600
                        })
                    for _ in 0..<6 {
                        await world.advance(by: 86_400)
                        await world.change { $0.conditions.network.name = "tower at \(world.now.bootSeconds)" }
                    }
                    for id in ids { #expect(await world.status(id)?.state == .waiting) }
                    #expect(await world.status(brief)?.error?.code == .timedOut)
                    #expect(world.transport.begun.isEmpty)
                    // The user's own rules are never relaxed.
                    #expect(await world.status(ids[2])?.rules?.discretion == .relaxed)
                    #expect(await world.status(ids[2])?.wait?.reason == .cellularNetwork)
                    await world.advance(by: 86_400 + 1)
                    for id in ids { #expect(await world.status(id)?.error?.code == .timedOut) }
                    let failures = await world.journal().filter { $0.decision == .failed }
                    #expect(failures.count == 61)
                }
            }
        }

        @Test func `Conditions relax at half and at nine tenths of the resource timeout`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("loosening") { world in
                    await world.start()
                    await world.change { $0.conditions.isLowPower = true }
                    let half = Story.serve(world, name: "half", size: 1_000)
                    let most = Story.serve(world, name: "most", size: 1_000)
                    let start = world.now.bootSeconds
                    func wish(_ request: inout TaskRequest) {
                        request.isDiscretionary = true
                        request.resourceTimeout = 1_000
                    }
                    await world.enqueue(world.request(half, adjust: wish))
                    await world.advance(by: 499.9)
                    #expect(world.transport.begun.isEmpty)
                    await world.advance(by: 10)
                    #expect(world.transport.begun.map { $0.time - start } == [500])
                    // While the device dozes, only the second step of relaxation allows a start.
                    await world.change {
                        $0.conditions.isLowPower = false
                        $0.phase = .dozing
                    }
                    let second = world.now.bootSeconds
                    let id = await world.enqueue(world.request(most, adjust: wish))
                    await world.advance(by: 300)
                    await world.suspend(id)
                    await world.advance(by: 5_000)
                    await world.resume(id)
                    #expect(await world.status(id)?.wait?.reason == .doze)
                    await world.advance(by: 1_000)
                    #expect(world.transport.begun.dropFirst().map { $0.time - second } == [5_900])
                    #expect(await world.status(id)?.rules == nil)
                    let loosened = await world.journal().filter { $0.decision == .conditionsLoosened }
                    #expect(loosened.map { $0.inputs?["discretion"] } == ["relaxed", "relaxed", "none"])
                    #expect(world.ledger.open.isEmpty)
                }
            }
        }

        @Test func `Conditions do not relax by the time during which the machine is off`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("loosening over a reboot") { world in
                    let url = Story.serve(world, size: 1_000)
                    await world.start()
                    await world.change { $0.phase = .dozing }
                    let start = world.now.wallSeconds
                    await world.enqueue(
                        world.request(url) {
                            $0.isDiscretionary = true
                            $0.resourceTimeout = 10_000
                        })
                    await world.advance(by: 1_000)
                    try await world.restart(off: 3_000)
                    await world.advance(by: 7_900)
                    #expect(world.transport.begun.isEmpty)
                    await world.advance(by: 200)
                    // The tolerance allows for the precision of a double that holds seconds since 1970.
                    #expect(abs(world.now.wallSeconds - start - 12_100) < 0.001)
                    #expect(world.transport.begun.count == 1)
                    // The time while the machine is off does not count, however long it is, because a wrong clock looks
                    // the same.
                    let late = await world.enqueue(
                        world.request(url) {
                            $0.isDiscretionary = true
                            $0.resourceTimeout = 10_000
                        })
                    try await world.restart(off: 9_500)
                    await world.advance(by: 1)
                    #expect(await world.status(late)?.state == .waiting)
                    await world.advance(by: 9_100)
                    #expect(await world.status(late)?.state == .completed)
                }
            }
        }

        @Test func `Tasks that a condition blocks do not block tasks with other requirements`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("classes") { world in
                    let urls = (0..<40).map { Story.serve(world, name: "\($0)", size: 1_000) }
                    await world.start()
                    await world.change { $0.conditions.network.isExpensive = true }
                    let held = await world.enqueue(
                        urls.prefix(30).map { url in
                            world.request(url, priority: 1) { $0.allowsExpensiveNetworkAccess = false }
                        })
                    let free = await world.enqueue(
                        urls.suffix(10).enumerated().map { index, url in
                            world.request(url) { $0.allowsCellularAccess = index % 2 == 0 ? false : nil }
                        })
                    await world.advance(by: 10)
                    for id in free { #expect(await world.status(id)?.state == .completed) }
                    for id in held { #expect(await world.status(id)?.wait?.reason == .expensiveNetwork) }
                    let order = world.transport.begun.compactMap { begun in urls.firstIndex(of: begun.request.url) }
                    // Tasks that start together prepare their files concurrently, so their order varies. An origin
                    // allows six at a time.
                    #expect(Set(order.prefix(6)) == Set(30..<36) && Set(order) == Set(30..<40) && order.count == 10)
                }
            }
        }

        @Test func `The journal records the reason for a block once for each requirement class`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("held from the first") { world in
                    let url = Story.serve(world, size: 1_000)
                    await world.start()
                    await world.change {
                        $0.conditions.power = .battery
                        $0.conditions.batteryPercentage = 34
                    }
                    let ids = await world.enqueue([
                        world.request(url), world.request(url) { $0.minimumBattery = 50 },
                        world.request(url) { $0.requiresExternalPower = true },
                        world.request(url) { $0.minimumBattery = 50 },
                        world.request(url) {
                            $0.minimumBattery = 60
                            $0.suspended = true
                        },
                    ])
                    let held = await world.journal().filter { $0.decision == .held }
                    #expect(held.map(\.task) == [ids[1], ids[2]])
                    #expect(held.map { $0.wait?.reason } == [.battery, .externalPower])
                    #expect(held.first?.wait?.detail == "2 transfers. The battery is at 34 %; 50 % is required.")
                    #expect(
                        held.first?.inputs
                            == ["network": "yes", "power": "battery", "battery": "34", "minimumBattery": "50"])
                    let why = try await world.service.explain(ids[3])
                    #expect(
                        why.sentence
                            == "\(WaitReason.battery.sentence) The battery is at 34 %; 50 % is required.")
                    #expect(why.endedBy == "charging the battery")
                    // The journal entry of a start also lists the inputs of the decision.
                    await world.change { $0.conditions.batteryPercentage = 80 }
                    await world.advance(by: 5)
                    let started = await world.journal().last { $0.decision == .started && $0.task == ids[1] }
                    #expect(started?.inputs?["battery"] == "80")
                    #expect(await world.status(ids[3])?.state == .completed)
                    #expect(await world.status(ids[2])?.wait?.reason == .externalPower)
                    await world.change { $0 = DeviceState() }
                    await world.advance(by: 5)
                }
            }
        }

        @Test func `The service starts no tasks while the machine goes to sleep`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("sleep") { world in
                    let url = Story.serve(world, size: 1_000)
                    await world.start()
                    await world.change { $0.conditions.isSleeping = true }
                    let id = await world.enqueue(world.request(url))
                    await world.advance(by: 30)
                    #expect(await world.status(id)?.wait?.reason == .sleeping)
                    #expect(world.transport.begun.isEmpty)
                    let moment = world.now.bootSeconds
                    await world.change { $0.conditions.isSleeping = false }
                    #expect(world.transport.begun.map(\.time) == [moment])
                    await world.advance(by: 2)
                }
            }
        }

        @Test func `Tasks obey their conditions after a crash or power cut at any write`() async {
            await #expect(processExitsWith: .success) {
                await CrashStory.everyWrite("a crash under rules", step: 1, story: Weather.story) { world in
                    try await world.crash()
                    try await world.boot()
                }
                await CrashStory.everyWrite("a power cut under rules", step: 3, story: Weather.story) { world in
                    try await world.cutPower(off: 300)
                    try await world.boot()
                }
            }
        }
    }
}

/// The rules of tasks, and device states that do not satisfy these rules.
enum Weather {
    typealias Rule = @Sendable (inout TaskRequest) -> Void
    typealias Change = @Sendable (inout DeviceState) -> Void

    static let forbidding: [(WaitReason, Rule, Change)] = [
        (.network, { _ in }, { $0.conditions.network.isAvailable = false }),
        (.cellularNetwork, { $0.allowsCellularAccess = false }, { $0.conditions.network.kind = .cellular }),
        (.expensiveNetwork, { $0.allowsExpensiveNetworkAccess = false }, { $0.conditions.network.isExpensive = true }),
        (
            .constrainedNetwork, { $0.allowsConstrainedNetworkAccess = false },
            { $0.conditions.network.isConstrained = true }
        ),
        (.externalPower, { $0.requiresExternalPower = true }, { $0.conditions.power = .battery }),
        (
            .battery, { $0.minimumBattery = 50 },
            {
                $0.conditions.power = .battery
                $0.conditions.batteryPercentage = 34
            }
        ),
        (.discretionary, { $0.isDiscretionary = true }, { $0.conditions.isLowPower = true }),
        (.doze, { $0.isDiscretionary = true }, { $0.phase = .dozing }),
    ]

    /// Runs tasks with every kind of rule while the device state changes.
    @Sendable static func story(_ world: World) async {
        world.transport.setBandwidth(400_000)
        let requests = forbidding.enumerated().map { number, row in
            let url = Story.serve(world, host: "host\(number)", size: 3_000_000)
            return world.request(url, adjust: row.1)
        }
        let ids = await world.enqueue(requests)
        await world.advance(by: 1.2, inspecting: false)
        guard !world.commits.hasFailed, let first = ids.first else { return }
        for row in forbidding.dropFirst(2) {
            guard !world.commits.hasFailed else { return }
            await world.change { $0 = DeviceState() }
            await world.change(row.2)
            await world.advance(by: 0.7, inspecting: false)
        }
        guard !world.commits.hasFailed else { return }
        await world.suspend(first)
        await world.resume(first)
        // This time is long enough for the first step of relaxation, which starts tasks that still wait.
        await world.advance(atMost: 4 * 86_400) { world.commits.hasFailed || world.ledger.open.isEmpty }
    }
}
