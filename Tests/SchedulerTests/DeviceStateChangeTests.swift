import NightshiftAPI
import Scheduler
import TestSupport
import Testing

/// Tests of the actions that follow a change of the device state.
@Suite struct DeviceStateChangeTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var before = DeviceState()
        var after = DeviceState()
        var expected: [String]

        init(
            _ description: String, _ expected: [String], before: (inout DeviceState) -> Void = { _ in },
            after: (inout DeviceState) -> Void = { _ in }
        ) {
            testDescription = description
            self.expected = expected
            before(&self.before)
            self.after = self.before
            after(&self.after)
        }
    }

    static let rows = [
        Row("nothing changes", []),
        Row("the device dozes", ["stop", "admit"], after: { $0.phase = .dozing }),
        Row("power goes", ["stop", "admit"], after: { $0.conditions.power = .battery }),
        Row("a network that costs now", ["stop", "admit"], after: { $0.conditions.network.isExpensive = true }),
        Row(
            "another kind of network", ["check", "stop", "networkChanged, pauses end", "admit"],
            after: { $0.conditions.network.kind = .cellular }),
        Row(
            "another network of the kind", ["check", "stop", "networkChanged, pauses end", "admit"],
            after: { $0.conditions.network.name = "cafe" }),
        Row(
            "the network goes", ["check", "stop", "networkLost", "admit"],
            after: { $0.conditions.network.isAvailable = false }),
        Row(
            "the network comes back", ["check", "stop", "networkReturned, pauses end", "admit"],
            before: { $0.conditions.network.isAvailable = false },
            after: { $0.conditions.network.isAvailable = true }),
        Row(
            "another kind of no network", ["check", "stop", "admit"],
            before: { $0.conditions.network.isAvailable = false }, after: { $0.conditions.network.kind = .wifi }),
        Row("the machine goes to sleep", ["stop", "admit"], after: { $0.conditions.isSleeping = true }),
        Row(
            "the machine wakes", ["check", "stop", "admit"], before: { $0.conditions.isSleeping = true },
            after: { $0.conditions.isSleeping = false }),
        Row("the machine has slept and woken", ["check", "stop", "admit"], after: { $0.conditions.sleeps += 1 }),
        Row(
            "somebody has logged in", ["stop", "portal", "admit"],
            before: { $0.conditions.network.connectivity = .portal },
            after: { $0.conditions.network.connectivity = .full }),
        Row(
            "the network wants a login", ["stop", "admit"],
            after: { $0.conditions.network.connectivity = .portal }),
    ]

    private static let now = ClockReading(bootID: "boot", bootSeconds: 7, wallSeconds: 70)

    private static func words(_ actions: [DeviceStateChange.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .checkConnections: "check"
            case .stopForbidden: "stop"
            case .endPortalWaits: "portal"
            case .note(let entry, let endsPauses): entry.decision.rawValue + (endsPauses ? ", pauses end" : "")
            case .admit: "admit"
            }
        }
    }

    @Test(arguments: rows) func `Each change of device state causes the actions of the change's row in the table`(
        row: Row
    ) {
        let actions = DeviceStateChange.actions(from: row.before, to: row.after, now: Self.now)
        #expect(Self.words(actions) == row.expected)
    }

    @Test func `The journal records the current network`() {
        var after = DeviceState()
        after.conditions.network.kind = .wifi
        after.conditions.network.name = "home"
        let actions = DeviceStateChange.actions(from: DeviceState(), to: after, now: Self.now)
        let entry = JournalEntry(
            time: Self.now.date, decision: .networkChanged,
            inputs: [
                "network": "yes", "interface": "wifi", "networkName": "home", "expensive": "no", "constrained": "no",
            ])
        #expect(actions.contains(.note(entry, endsPauses: true)))
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `Random changes lead only to legal actions`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var moment = DeviceState()
        var hasNetwork = true
        for _ in 0..<200 {
            let before = moment
            switch Int.random(in: 0..<7, using: &random) {
            case 0: moment.conditions.network.isAvailable.toggle()
            case 1: moment.conditions.network.kind = NetworkKind.allCases.randomElement(using: &random) ?? .other
            case 2: moment.conditions.network.name = ["home", "cafe", nil][Int.random(in: 0..<3, using: &random)]
            case 3: moment.conditions.isSleeping.toggle()
            case 4: moment.phase = DozePhase.allCases.randomElement(using: &random) ?? .awake
            case 5: moment.conditions.network.isExpensive.toggle()
            default:
                moment.conditions.network.connectivity =
                    NetworkConnectivity.allCases.randomElement(using: &random) ?? .full
            }
            let words = Self.words(DeviceStateChange.actions(from: before, to: moment, now: Self.now))
            guard moment != before else {
                #expect(words == [], "seed \(seed)")
                continue
            }
            // Forbidden transfers stop before others start, and each action is requested once.
            let order = ["check", "stop", "portal", "network", "admit"]
            let places = words.compactMap { word in order.firstIndex { word.hasPrefix($0) } }
            #expect(places == Set(places).sorted() && places.count == words.count, "seed \(seed): \(words)")
            #expect(words.last == "admit" && words.contains("stop"), "seed \(seed)")
            // Only the journal entry depends on whether there is a network.
            for word in words where word.hasPrefix("network") {
                switch (hasNetwork, word) {
                case (true, "networkLost"): hasNetwork = false
                case (false, "networkReturned, pauses end"): hasNetwork = true
                case (true, "networkChanged, pauses end"): break
                default: Issue.record("\(word) where there was \(hasNetwork ? "a" : "no") network, seed \(seed)")
                }
            }
            #expect(hasNetwork == moment.conditions.network.isAvailable, "seed \(seed)")
        }
    }
}
