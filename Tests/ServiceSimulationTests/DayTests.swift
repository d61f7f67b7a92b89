import Foundation
import NightshiftAPI
import Simulation
import Testing

extension Simulations {
    /// Tests with one scripted day that runs twice: in the whole service under a manual clock, and in `simulate`.
    @Suite struct DayTests {
        @Test func `B3: The service and the simulation make the same decisions at the same times`() async {
            await #expect(processExitsWith: .success) {
                // The jitter is fixed at 0.5, the value that the simulation uses.
                await Simulation.run("a day", jitter: 0.5) { world in
                    let trace = try Trace(parsing: Day.text)
                    let outcome = trace.played()
                    let day = PlayedDay(world)
                    await day.play(trace)
                    let journal = await world.journal()
                    let start = outcome.totals.start
                    let simulated = outcome.entries.map { Told($0, at: $0.time.timeIntervalSince(start)) }
                    let lived = journal.map { Told($0, at: day.seconds($0)) }

                    // The decisions about the device match word for word.
                    Told.compare(
                        day.deviceEntries.map { Told($0, at: day.seconds($0)) },
                        simulated.filter { Day.device.contains($0.entry.decision) }, "the device")
                    Told.compare(
                        lived.filter { Day.service.contains($0.entry.decision) },
                        simulated.filter { Day.service.contains($0.entry.decision) }, "the service")

                    // The decisions about each transfer match.
                    #expect(day.tasks.count == outcome.totals.transfers.accepted)
                    for (index, task) in day.tasks.enumerated() {
                        let number = TaskID(Int64(index + 1))
                        Told.compare(
                            // Only the real service moves a file to its destination.
                            lived.filter { $0.entry.task == task && $0.entry.decision != .finishing },
                            simulated.filter { $0.entry.task == number }, "transfer \(number)")
                    }
                    // The day contains the waits that it is meant to test.
                    let reasons = Set(journal.compactMap { $0.wait?.reason })
                    #expect(reasons.isSuperset(of: Day.reasons), "\(Day.reasons.subtracting(reasons))")
                    #expect(Set(journal.map(\.decision)).isSuperset(of: Day.decisions))
                    #expect(day.deviceEntries.contains { $0.decision == .windowOpened })
                    #expect(world.ledger.open.isEmpty)
                }
            }
        }
    }
}

/// An hour in which the device, hosts and time have all their effects on transfers.
private enum Day {
    static let text = """
        {"trace": {}}
        {"at": 0, "device": {"power": "battery", "battery": 80, "idle": false, "interface": "wifi", "networkName": "home"}, "bytesPerSecond": 500000}
        {"at": 10, "transfer": {"bytes": 3000000, "host": "a.example"}}

        # A mobile network, which some may not use and some may use and cost.
        {"at": 30, "transfer": {"bytes": 2000000, "count": 3, "host": "b.example", "cellular": false}}
        {"at": 34, "device": {"interface": "cellular", "expensive": true, "networkName": "tower"}}
        {"at": 40, "transfer": {"bytes": 1000000, "count": 2, "host": "c.example", "expensive": false}}
        {"at": 60, "device": {"interface": "wifi", "expensive": false, "networkName": "home"}}

        # No network.
        {"at": 98, "transfer": {"bytes": 2000000, "host": "a.example"}}
        {"at": 100, "device": {"network": false}}
        {"at": 105, "transfer": {"bytes": 500000, "host": "a.example"}}
        {"at": 130, "device": {"network": true}}

        # Hosts in trouble.
        {"at": 150, "host": {"name": "d.example", "fails": "unreachable"}}
        {"at": 160, "transfer": {"bytes": 500000, "count": 3, "host": "d.example"}}
        {"at": 165, "host": {"name": "d.example", "fails": "no"}}
        {"at": 200, "host": {"name": "e.example", "fails": "busy", "retryAfter": 120}}
        {"at": 205, "transfer": {"bytes": 500000, "count": 2, "host": "e.example"}}
        {"at": 210, "transfer": {"bytes": 500000, "host": "e.example"}}
        {"at": 250, "host": {"name": "e.example", "fails": "no"}}
        {"at": 360, "host": {"name": "f.example", "fails": "missing"}}
        {"at": 365, "transfer": {"bytes": 500000, "host": "f.example"}}

        # What an app adds in the background waits until it is in front.
        {"at": 400, "device": {"battery": 30}}
        {"at": 400, "app": "org.example.App", "use": "front"}
        {"at": 410, "app": "org.example.App", "task": {"name": "sync", "seconds": 400}}
        {"at": 420, "app": "org.example.App", "use": "background"}
        {"at": 430, "app": "org.example.App", "transfer": {"bytes": 500000, "wakes": false}}
        {"at": 500, "app": "org.example.App", "use": "front"}
        {"at": 520, "device": {"battery": 80}}

        # A good moment that does not come until less is good enough.
        {"at": 600, "device": {"lowPower": true}}
        {"at": 610, "transfer": {"bytes": 500000, "host": "g.example", "discretionary": true, "timeout": 1000}}
        {"at": 1150, "device": {"lowPower": false}}

        # Doze, a window, and somebody who comes back.
        {"at": 1200, "device": {"idle": true}}
        {"at": 1300, "transfer": {"bytes": 500000, "count": 2, "host": "a.example", "discretionary": true}}
        {"at": 2300, "transfer": {"bytes": 500000, "host": "a.example"}}
        {"at": 2400, "device": {"idle": false}}

        # A transfer that runs when doze begins, and continues in the maintenance window.
        {"at": 2500, "device": {"idle": true}}
        {"at": 2555, "transfer": {"bytes": 5000000, "host": "a.example", "discretionary": true}}
        {"at": 3600, "end": true}
        """

    static let device: Set<Decision> = [
        .deviceChanged, .deviceSlept, .deviceWoke, .deviceHeldAwake, .deviceReleased, .dozeBegan, .dozeEnded,
        .windowOpened, .windowClosed,
    ]
    static let service: Set<Decision> = [
        .serviceStarted, .networkLost, .networkReturned, .networkChanged, .conditionsLifted,
    ]
    static let reasons: Set<WaitReason> = [
        .cellularNetwork, .expensiveNetwork, .network, .retry, .retryAfter, .discretionary, .doze,
    ]
    static let decisions: Set<Decision> = [
        .accepted, .started, .continued, .held, .completed, .failed, .conditionsLoosened, .conditionsLifted,
        .networkChanged, .networkLost, .networkReturned,
    ]
}

/// A journal entry in the form common to the service and the simulation, with its second of the day.
private struct Told: CustomStringConvertible {
    var entry: JournalEntry
    var time: Double

    init(_ entry: JournalEntry, at time: Double) {
        self.entry = entry
        self.time = time
    }

    /// The seconds that responses and the arrival of bytes take in the service's world. In a trace they take no time.
    private static let tolerance = 1.5

    /// The decision with its reason. It includes the text and the inputs if a policy determined them, not a server.
    var description: String {
        let reason = entry.wait.map { "for \($0.reason.rawValue)" }
        let error = entry.error.map { "after \($0.code.rawValue)" }
        var words = [entry.decision.rawValue, reason, error]
        let isPolicys =
            switch entry.decision {
            // Locations, names and byte counts differ between the two worlds.
            case .accepted, .continued, .completed, .failed: false
            default: entry.error == nil
            }
        if isPolicys {
            let inputs = entry.inputs?.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            words += [entry.detail, entry.wait?.detail, inputs?.joined(separator: " ")]
        }
        return words.compactMap(\.self).joined(separator: " | ")
    }

    static func compare(_ lived: [Told], _ simulated: [Told], _ what: String) {
        #expect(lived.map(\.description) == simulated.map(\.description), "\(what)")
        for (one, other) in zip(lived, simulated) {
            #expect(
                abs(one.time - other.time) <= tolerance,
                "\(what): \(one) at \(one.time) in the service, at \(other.time) in the simulation")
        }
    }
}
