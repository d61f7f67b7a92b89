import Foundation
import NightshiftAPI
import Scheduler

/// The running totals of a simulation.
struct Ledger {
    private var wakeUps = 0
    private var wasResting = false
    /// The seconds that the device spent in each of its states.
    private var inUse = 0.0
    private var awake = 0.0
    private var dozing = 0.0
    private var inWindows = 0.0
    private var asleep = 0.0
    var windows: [WindowReason: Int] = [:]
    /// The number of bytes transferred over each network.
    private var carried: [Network: Double] = [:]

    private struct Network: Hashable {
        var kind: NetworkKind
        var isExpensive: Bool
    }

    /// Adds a number of seconds during which the world does not change.
    mutating func addTime(_ seconds: Double, _ world: World) {
        if world.conditions.isSleeping {
            asleep += seconds
        } else {
            switch world.moment.phase {
            case .awake where !world.conditions.isIdle: inUse += seconds
            case .awake: awake += seconds
            case .dozing: dozing += seconds
            case .window: inWindows += seconds
            }
        }
    }

    /// Records whether the device rests. If it leaves sleep or doze, for a window or permanently, this counts as a
    /// wake-up.
    mutating func setResting(_ isResting: Bool) {
        if wasResting, !isResting { wakeUps += 1 }
        wasResting = isResting
    }

    mutating func addBytes(_ bytes: Double, _ network: NetworkConditions) {
        guard bytes > 0 else { return }
        carried[Network(kind: network.kind, isExpensive: network.isExpensive), default: 0] += bytes
    }

    func totals(_ world: World) -> SimulationTotals {
        let start = Date(timeIntervalSince1970: world.settings.start)
        var totals = SimulationTotals(start: start, end: world.now.date)
        totals.wakeUps = wakeUps
        totals.inUse = VirtualClock.milliseconds(inUse)
        totals.awake = VirtualClock.milliseconds(awake)
        totals.dozing = VirtualClock.milliseconds(dozing)
        totals.inWindows = VirtualClock.milliseconds(inWindows)
        totals.asleep = VirtualClock.milliseconds(asleep)
        totals.windows = WindowReason.allCases.compactMap { reason in
            windows[reason].map { WindowCount(reason: reason, count: $0) }
        }
        totals.apps = world.apps.map(\.rounded).sorted { $0.app.rawValue < $1.app.rawValue }
        for kind in NetworkKind.allCases {
            for isExpensive in [false, true] {
                guard let bytes = carried[Network(kind: kind, isExpensive: isExpensive)] else { continue }
                totals.networks.append(
                    NetworkTotals(kind: kind, isExpensive: isExpensive, bytes: Int64(saturating: bytes.rounded())))
            }
        }
        totals.waits = world.transfers.waitTotals(world.clock.bootSeconds)
        totals.transfers = world.transfers.totals
        totals.refresh = world.refresh.takesPart ? world.refresh.totals : nil
        totals.location = world.location.takesPart ? world.location.rounded : nil
        return totals
    }
}
