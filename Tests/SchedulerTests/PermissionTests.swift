import NightshiftAPI
import Scheduler
import Testing

/// Tests of the conditions under which tasks may run: the table in the decision record, and combinations of its rows.
@Suite struct PermissionTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var rules: TransferRules
        var moment: DeviceState
        var isLoopback: Bool
        var expected: WaitReason?

        init(
            _ description: String, _ expected: WaitReason?, loopback: Bool = false,
            _ adjust: (inout TransferRules, inout DeviceState) -> Void
        ) {
            testDescription = description
            self.expected = expected
            isLoopback = loopback
            rules = TransferRules()
            moment = DeviceState()
            adjust(&rules, &moment)
        }
    }

    private static func battery(_ moment: inout DeviceState, _ level: Double?) {
        moment.conditions.power = .battery
        moment.conditions.batteryPercentage = level
    }

    static let networks = [
        Row("no rules, a machine that tells nothing", nil) { _, _ in },
        Row("no network", .network) { $1.conditions.network.isAvailable = false },
        Row("no network, to this machine", nil, loopback: true) { $1.conditions.network.isAvailable = false },
        Row("a mobile network that is allowed", nil) { $1.conditions.network.kind = .cellular },
        Row("a mobile network that is not", .cellularNetwork) {
            $0.allowsCellularAccess = false
            $1.conditions.network.kind = .cellular
        },
        Row("another one than a mobile network", nil) {
            $0.allowsCellularAccess = false
            $1.conditions.network.kind = .wifi
        },
        Row("an expensive network", .expensiveNetwork) {
            $0.allowsExpensiveNetworkAccess = false
            $1.conditions.network.isExpensive = true
        },
        Row("an expensive network, to this machine", nil, loopback: true) {
            $0.allowsExpensiveNetworkAccess = false
            $0.discretion = .full
            $1.conditions.network.isExpensive = true
        },
        Row("a constrained network", .constrainedNetwork) {
            $0.allowsConstrainedNetworkAccess = false
            $1.conditions.network.isConstrained = true
        },
        Row("no network comes before its kind", .network) {
            $0.allowsCellularAccess = false
            $1.conditions.network.kind = .cellular
            $1.conditions.network.isAvailable = false
        },
    ]

    static let power = [
        Row("on battery", .externalPower) {
            $0.requiresExternalPower = true
            battery(&$1, 100)
        },
        Row("on battery, to this machine", .externalPower, loopback: true) {
            $0.requiresExternalPower = true
            battery(&$1, 100)
        },
        Row("plugged in with an empty battery", nil) {
            $0.requiresExternalPower = true
            $0.minimumBattery = 80
            $1.conditions.batteryPercentage = 1
        },
        Row("enough battery", nil) {
            $0.minimumBattery = 50
            battery(&$1, 50)
        },
        Row("a little less than enough", .battery) {
            $0.minimumBattery = 50
            battery(&$1, 49.9)
        },
        Row("nobody knows how much", .battery) {
            $0.minimumBattery = 1
            battery(&$1, nil)
        },
        Row("nobody knows how much, and none is asked for", nil) { battery(&$1, nil) },
    ]

    static let discretion = [
        Row("doze", .doze) {
            $0.discretion = .full
            $1.phase = .dozing
        },
        Row("doze, to this machine", .doze, loopback: true) {
            $0.discretion = .relaxed
            $1.phase = .dozing
        },
        Row("doze, and no discretion", nil) { $1.phase = .dozing },
        Row("a window", nil) {
            $0.discretion = .full
            $1.phase = .window
        },
        Row("a window on a bad moment", .discretionary) {
            $0.discretion = .full
            $1.phase = .window
            $1.conditions.isLowPower = true
        },
        Row("doze is named last: the next window would not help", .discretionary) {
            $0.discretion = .full
            $1.phase = .dozing
            $1.conditions.isLowPower = true
        },
        Row("what is forbidden is named before what can wait", .expensiveNetwork) {
            $0.discretion = .full
            $0.allowsExpensiveNetworkAccess = false
            $1.conditions.network.isExpensive = true
            $1.phase = .dozing
        },
        Row("full on an expensive network", .discretionary) {
            $0.discretion = .full
            $1.conditions.network.isExpensive = true
        },
        Row("relaxed on an expensive network", .discretionary) {
            $0.discretion = .relaxed
            $1.conditions.network.isExpensive = true
        },
        Row("full on a constrained network", .discretionary) {
            $0.discretion = .full
            $1.conditions.network.isConstrained = true
        },
        Row("relaxed on a constrained network", nil) {
            $0.discretion = .relaxed
            $1.conditions.network.isConstrained = true
        },
        Row("full in low-power mode", .discretionary) {
            $0.discretion = .full
            $1.conditions.isLowPower = true
        },
        Row("relaxed in low-power mode", nil) {
            $0.discretion = .relaxed
            $1.conditions.isLowPower = true
        },
        Row("full with half a battery", nil) {
            $0.discretion = .full
            battery(&$1, 50)
        },
        Row("full with less than half", .discretionary) {
            $0.discretion = .full
            battery(&$1, 49)
        },
        Row("relaxed with less than half", nil) {
            $0.discretion = .relaxed
            battery(&$1, 20)
        },
        Row("relaxed with less than a fifth", .discretionary) {
            $0.discretion = .relaxed
            battery(&$1, 19)
        },
        Row("full with a warning", .discretionary) {
            $0.discretion = .full
            battery(&$1, 90)
            $1.conditions.batteryWarning = .low
        },
        Row("relaxed with a warning", .discretionary) {
            $0.discretion = .relaxed
            battery(&$1, nil)
            $1.conditions.batteryWarning = .action
        },
        Row("running on battery is no warning", nil) {
            $0.discretion = .full
            battery(&$1, 90)
            $1.conditions.batteryWarning = .discharging
        },
        Row("an old warning while plugged in", nil) {
            $0.discretion = .full
            $1.conditions.batteryWarning = .critical
            $1.conditions.batteryPercentage = 3
        },
    ]

    @Test(arguments: networks + power + discretion)
    func `Each combination of rules and device state gives the wait reason of its row`(_ row: Row) {
        #expect(Permission.hold(row.rules, row.moment, isLoopback: row.isLoopback) == row.expected)
    }

    /// Every combination of rules. The tests combine each one with several device states.
    static let everyRule: [TransferRules] = (0..<96).flatMap { code in
        [0, 50].map { minimum in
            var rules = TransferRules()
            rules.discretion = TransferRules.Discretion.allCases[code % 3]
            rules.allowsCellularAccess = code / 3 & 1 == 0
            rules.allowsExpensiveNetworkAccess = code / 3 & 2 == 0
            rules.allowsConstrainedNetworkAccess = code / 3 & 4 == 0
            rules.requiresExternalPower = code / 3 & 8 == 0
            rules.minimumBattery = minimum
            return rules
        }
    }

    static let moments: [DeviceState] = (0..<512).flatMap { code in
        [nil, 10, 30, 60].map { level in
            var moment = DeviceState(phase: DozePhase.allCases[code % 3])
            moment.conditions.network.isAvailable = code & 1 == 0
            moment.conditions.network.kind = code & 2 == 0 ? .wifi : .cellular
            moment.conditions.network.isExpensive = code & 4 != 0
            moment.conditions.network.isConstrained = code & 8 != 0
            moment.conditions.power = code & 16 == 0 ? .external : .battery
            moment.conditions.isLowPower = code & 32 != 0
            moment.conditions.batteryWarning = code & 64 == 0 ? .none : .critical
            moment.conditions.batteryPercentage = level
            return moment
        }
    }

    @Test func `Stricter rules never allow more tasks, and a better device state never fewer`() {
        var faults: Set<String> = []
        for rules in Self.everyRule {
            var looser = rules
            looser.discretion = rules.discretion == .full ? .relaxed : .none
            for moment in Self.moments {
                let hold = Permission.hold(rules, moment, isLoopback: false)
                if hold == nil, Permission.hold(looser, moment, isLoopback: false) != nil {
                    faults.insert("loosening holds \(rules)")
                }
                if hold == nil, Permission.hold(rules, moment, isLoopback: true) != nil {
                    faults.insert("loopback holds \(rules)")
                }
                var better = moment
                better.conditions = DeviceConditions()
                better.phase = .awake
                if let reason = Permission.hold(rules, better, isLoopback: false) {
                    faults.insert("\(reason) for nothing")
                }
                better = moment
                better.phase = .window
                // A task that waits only for doze runs in a window.
                if hold == .doze, Permission.hold(rules, better, isLoopback: false) != nil {
                    faults.insert("doze is not all that \(rules) waits for")
                }
            }
        }
        #expect(faults.isEmpty, "\(faults)")
    }

    /// A test that values other than the listed inputs have no effect.
    @Test func `The permission depends only on the listed inputs`() {
        var faults: Set<String> = []
        for rules in Self.everyRule {
            for isLoopback in [false, true] {
                var reasons: [[String: String]: WaitReason?] = [:]
                for moment in Self.moments {
                    let hold = Permission.hold(rules, moment, isLoopback: isLoopback)
                    let inputs = Permission.inputs(rules, moment, isLoopback: isLoopback)
                    if let known = reasons[inputs], known != hold { faults.insert("\(rules): \(inputs)") }
                    reasons[inputs] = hold
                }
            }
        }
        #expect(faults.isEmpty, "\(faults.prefix(3))")
    }

    @Test func `The inputs of the permission have the names of the device keys`() {
        var rules = TransferRules()
        rules.minimumBattery = 50
        rules.discretion = .relaxed
        var moment = DeviceState(phase: .dozing)
        Self.battery(&moment, 34)
        #expect(
            Permission.inputs(rules, moment, isLoopback: false) == [
                "network": "yes", "expensive": "no", "power": "battery", "battery": "34", "warning": "none",
                "phase": "dozing", "discretion": "relaxed", "minimumBattery": "50",
            ])
        #expect(Permission.inputs(TransferRules(), moment, isLoopback: true).isEmpty)
        #expect(DeviceKey.allCases.allSatisfy { $0.rawValue != Permission.phaseInput })
    }

    @Test func `The detail of a wait reason says what is missing`() {
        var rules = TransferRules()
        rules.minimumBattery = 50
        rules.discretion = .full
        var moment = DeviceState()
        Self.battery(&moment, 34.9)
        moment.conditions.isLowPower = true
        moment.conditions.network.name = "Train"
        func detail(_ reason: WaitReason) -> String? {
            Permission.detail(of: reason, rules, moment, isLoopback: false)
        }
        #expect(detail(.battery) == "The battery is at 34 %; 50 % is required.")
        #expect(detail(.externalPower) == "The battery is at 34 %.")
        #expect(detail(.discretionary) == "Low-power mode is on. The battery is at 34 %; 50 % is required.")
        #expect(detail(.expensiveNetwork) == "The network is 'Train'.")
        #expect(detail(.doze) == nil)
        moment.conditions.batteryPercentage = nil
        #expect(detail(.battery) == "The battery level is unknown; 50 % is required.")
        #expect(detail(.externalPower) == nil)
    }
}
