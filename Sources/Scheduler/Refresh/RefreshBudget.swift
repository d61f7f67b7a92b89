import NightshiftAPI

/// What a fetch took, or is expected to take.
package struct RefreshCost: Hashable, Sendable, Codable {
    /// Joules.
    package var energy: Double
    package var bytes: Double

    package init(energy: Double, bytes: Double) {
        self.energy = energy
        self.bytes = bytes
    }

    /// What taking the device out of sleep costs, in joules: some seconds at the power of a processor that just woke.
    static let wakeEnergy = 2.0
    /// Watts of a mobile radio in its high state, which it keeps for about ten seconds after traffic; and of an app that runs.
    static let radioPower = 1.0
    static let processorPower = 0.5

    /// The cost of what was measured.
    ///
    /// - Parameters:
    ///   - wakesDevice: whether the device was woken for it alone.
    ///   - radioSeconds: how long the radio was on for it: intervals that are less than 10 s apart are one.
    ///   - backgroundSeconds: how long the app ran for it.
    package init(wakesDevice: Bool, radioSeconds: Double, backgroundSeconds: Double, bytes: Double) {
        energy =
            (wakesDevice ? Self.wakeEnergy : 0) + Self.radioPower * max(0, radioSeconds)
            + Self.processorPower * max(0, backgroundSeconds)
        self.bytes = max(0, bytes)
    }

    /// What a fetch is taken for before one was measured: twelve seconds of radio, three of work, and a wake; 200 kB.
    package static let expected = RefreshCost(
        wakesDevice: true, radioSeconds: 12, backgroundSeconds: 3, bytes: 200_000)
}

/// What the device may spend on fetches: energy and bytes, which flow in evenly and keep for a day.
package struct RefreshBudget: Hashable, Sendable, Codable {
    /// What flows in on a day.
    package private(set) var daily: RefreshCost
    /// What is there; below zero where a fetch took more than was expected of it.
    package private(set) var balance: RefreshCost
    /// Seconds since 1970 up to which it has flowed in.
    private var filled: Double

    /// A hundred fetches of the expected size.
    package static let usual = RefreshCost(
        energy: 100 * RefreshCost.expected.energy, bytes: 100 * RefreshCost.expected.bytes)

    /// - Parameter daily: what is no number, or below zero, counts as nothing.
    package init(daily: RefreshCost, now: Double) {
        self.daily = Self.clean(daily)
        // Begun with a quarter, so that a device that was just set up is not without.
        balance = RefreshCost(energy: self.daily.energy / 4, bytes: self.daily.bytes / 4)
        filled = now
    }

    private static func clean(_ cost: RefreshCost) -> RefreshCost {
        RefreshCost(
            energy: cost.energy > 0 ? min(cost.energy, 1e12) : 0, bytes: cost.bytes > 0 ? min(cost.bytes, 1e15) : 0)
    }

    /// Lets time pass. A clock that was set back takes nothing, and no clock brings more than a day's.
    package mutating func fill(to now: Double) {
        let share = min(1, max(0, (now - filled) / LocalMoment.daySeconds))
        filled = now
        balance.energy = min(daily.energy, balance.energy + share * daily.energy)
        balance.bytes = min(daily.bytes, balance.bytes + share * daily.bytes)
    }

    /// Its user wants another one.
    package mutating func change(daily new: RefreshCost, now: Double) {
        fill(to: now)
        daily = Self.clean(new)
        balance.energy = min(daily.energy, balance.energy)
        balance.bytes = min(daily.bytes, balance.bytes)
    }

    package mutating func spend(_ cost: RefreshCost) {
        let cost = Self.clean(cost)
        balance.energy -= cost.energy
        balance.bytes -= cost.bytes
    }

    /// A fetch has ended for which `expected` was set aside, and took `actual`.
    package mutating func correct(from expected: RefreshCost, to actual: RefreshCost) {
        let expected = Self.clean(expected)
        balance.energy = min(daily.energy, balance.energy + expected.energy)
        balance.bytes = min(daily.bytes, balance.bytes + expected.bytes)
        spend(actual)
    }

    /// What a cost is of a day's budget: of that currency of which it takes the larger part. Infinite where there is none.
    package func share(of cost: RefreshCost) -> Double {
        max(Self.share(cost.energy, daily.energy), Self.share(cost.bytes, daily.bytes))
    }

    private static func share(_ cost: Double, _ daily: Double) -> Double {
        cost <= 0 ? 0 : daily > 0 ? cost / daily : .infinity
    }

    /// How much of a day's budget can be spent in the day that begins now.
    var ahead: Double {
        func available(_ balance: Double, _ daily: Double) -> Double { daily > 0 ? max(0, balance / daily + 1) : 0 }
        return min(available(balance.energy, daily.energy), available(balance.bytes, daily.bytes))
    }

    /// When `cost` will be there, in seconds from now; 0 where it is, nil where it never will.
    func wait(for cost: RefreshCost) -> Double? {
        func seconds(_ cost: Double, _ balance: Double, _ daily: Double) -> Double? {
            guard cost > balance else { return 0 }
            return cost <= daily ? (cost - balance) / daily * LocalMoment.daySeconds : nil
        }
        guard let energy = seconds(cost.energy, balance.energy, daily.energy),
            let bytes = seconds(cost.bytes, balance.bytes, daily.bytes)
        else { return nil }
        return max(energy, bytes)
    }

    /// Which of the two is short of `cost`.
    func shortage(of cost: RefreshCost) -> RefreshHold? {
        if cost.energy > balance.energy { return .energyBudget }
        return cost.bytes > balance.bytes ? .dataBudget : nil
    }
}
