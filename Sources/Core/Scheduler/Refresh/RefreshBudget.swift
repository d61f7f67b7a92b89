import NightshiftAPI

/// The measured or expected cost of a fetch.
package struct RefreshCost: Hashable, Sendable, Codable {
    /// The energy in joules.
    package var energy: Double
    package var bytes: Double

    package init(energy: Double, bytes: Double) {
        self.energy = energy
        self.bytes = bytes
    }

    /// The cost in joules of waking the device: some seconds at the power of a processor that just woke.
    static let wakeEnergy = 2.0
    /// The power in watts of a mobile radio in its high state, which lasts about ten seconds after traffic. The next
    /// constant is the power of a running app.
    static let radioPower = 1.0
    static let processorPower = 0.5

    /// Calculates a cost from measurements.
    ///
    /// - Parameters:
    ///   - wakesDevice: whether the device was woken only for this fetch.
    ///   - radioSeconds: the number of seconds for which the radio was on. Intervals less than 10 s apart count as one.
    ///   - backgroundSeconds: the number of seconds for which the app ran.
    package init(wakesDevice: Bool, radioSeconds: Double, backgroundSeconds: Double, bytes: Double) {
        energy =
            (wakesDevice ? Self.wakeEnergy : 0) + Self.radioPower * max(0, radioSeconds)
            + Self.processorPower * max(0, backgroundSeconds)
        self.bytes = max(0, bytes)
    }

    /// The assumed cost before any measurement: twelve seconds of radio, three seconds of work, a wake, and 200 kB.
    package static let expected = RefreshCost(
        wakesDevice: true, radioSeconds: 12, backgroundSeconds: 3, bytes: 200_000)
}

/// The energy and bytes that the device may spend on fetches. Both accrue evenly and are kept for up to a day.
package struct RefreshBudget: Hashable, Sendable, Codable {
    /// The energy and bytes that accrue per day.
    package private(set) var daily: RefreshCost
    /// The current balance. The value is negative after a fetch that cost more than expected.
    package private(set) var balance: RefreshCost
    /// The time in seconds since 1970 up to which the budget has accrued.
    private var filled: Double

    /// The usual budget: a hundred fetches of the expected cost.
    package static let usual = RefreshCost(
        energy: 100 * RefreshCost.expected.energy, bytes: 100 * RefreshCost.expected.bytes)

    /// Creates the budget, with the balance that is available at `now`.
    ///
    /// - Parameter daily: the daily budget. A value that is not a number, or is negative, counts as zero.
    package init(daily: RefreshCost, now: Double) {
        self.daily = Self.clean(daily)
        // The balance begins with a quarter of the daily budget, so that a new device can fetch at once.
        balance = RefreshCost(energy: self.daily.energy / 4, bytes: self.daily.bytes / 4)
        filled = now
    }

    private static func clean(_ cost: RefreshCost) -> RefreshCost {
        RefreshCost(
            energy: cost.energy > 0 ? min(cost.energy, 1e12) : 0, bytes: cost.bytes > 0 ? min(cost.bytes, 1e15) : 0)
    }

    /// Applies the passing of time. If the clock was set back, the balance does not shrink. A clock change never adds
    /// more than a day's budget.
    package mutating func fill(to now: Double) {
        let share = min(1, max(0, (now - filled) / LocalMoment.daySeconds))
        filled = now
        balance.energy = min(daily.energy, balance.energy + share * daily.energy)
        balance.bytes = min(daily.bytes, balance.bytes + share * daily.bytes)
    }

    /// Changes the daily budget to the user's new setting.
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

    /// Corrects the balance after a fetch for which `expected` was reserved and which cost `actual`.
    package mutating func correct(from expected: RefreshCost, to actual: RefreshCost) {
        let expected = Self.clean(expected)
        balance.energy = min(daily.energy, balance.energy + expected.energy)
        balance.bytes = min(daily.bytes, balance.bytes + expected.bytes)
        spend(actual)
    }

    /// Returns the share of a day's budget that a cost takes, in energy or bytes, whichever is larger. The result is
    /// infinite if there is no budget.
    package func share(of cost: RefreshCost) -> Double {
        max(Self.share(cost.energy, daily.energy), Self.share(cost.bytes, daily.bytes))
    }

    private static func share(_ cost: Double, _ daily: Double) -> Double {
        cost <= 0 ? 0 : daily > 0 ? cost / daily : .infinity
    }

    /// The share of a day's budget that can be spent in the next day.
    var ahead: Double {
        func available(_ balance: Double, _ daily: Double) -> Double { daily > 0 ? max(0, balance / daily + 1) : 0 }
        return min(available(balance.energy, daily.energy), available(balance.bytes, daily.bytes))
    }

    /// Returns the seconds until the balance covers `cost`: 0 if it covers the cost now, nil if it never will.
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

    /// Returns the reason to wait, energy or data, if the balance does not cover `cost`; otherwise nil.
    func shortage(of cost: RefreshCost) -> RefreshHold? {
        if cost.energy > balance.energy { return .energyBudget }
        return cost.bytes > balance.bytes ? .dataBudget : nil
    }
}
