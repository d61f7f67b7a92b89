package import NightshiftAPI

/// The detection of significant location changes for an app. This is a pure value.
///
/// A new cell or a distance of 500 m is a change, at least five minutes after the previous change. The first location
/// that is reported is the last known one.
package struct SignificantChange: Hashable, Sendable, Codable {
    private var told: Place?
    /// The time of the last report, on the clock of fixes.
    private var toldAt = 0.0
    /// The newest location that has not been reported yet, because the last report was recent.
    private var held: Place?

    /// The location of the device, at the accuracy that is available.
    package struct Place: Hashable, Sendable, Codable {
        package var fix: Fix
        /// The cell in the modem's notation; nil if no cell is known.
        package var cell: String?

        package init(fix: Fix, cell: String? = nil) {
            self.fix = fix
            self.cell = cell
        }
    }

    package static let distance = 500.0
    package static let pause = 300.0

    package init() {}

    /// Records a new location of the device.
    ///
    /// - Returns: the location to report now; nil for none.
    package mutating func moved(to place: Place) -> Place? {
        guard let told else { return tell(place, now: place.fix.time) }
        guard place.fix.time >= told.fix.time else { return nil }
        guard isSignificant(place, since: told) else {
            // The device is back at the location that was reported last, so no report is due.
            held = nil
            // The modem has started to report the cell of this location.
            if told.cell == nil { self.told?.cell = place.cell }
            return nil
        }
        held = place
        return tick(now: place.fix.time)
    }

    /// Makes the decision that is due at this time.
    ///
    /// - Returns: the location to report now.
    package mutating func tick(now: Double) -> Place? {
        guard let held, let due, now >= due else { return nil }
        return tell(held, now: now)
    }

    /// The time at which ``tick(now:)`` has a location to report; nil if it has no location to report.
    package var due: Double? { held == nil ? nil : toldAt + Self.pause }

    /// Handles a restart of the clock of fixes.
    package mutating func restarted(now: Double) {
        told?.fix.time = now
        toldAt = now - Self.pause
        held = nil
    }

    private mutating func tell(_ place: Place, now: Double) -> Place {
        told = place
        toldAt = now
        held = nil
        return place
    }

    private func isSignificant(_ place: Place, since told: Place) -> Bool {
        if let cell = place.cell, let before = told.cell, cell != before { return true }
        // Half the uncertainty of both fixes is subtracted, unless the new fix is accurate to 500 m.
        let distance = told.fix.place.distance(to: place.fix.place)
        return distance - place.fix.accuracy / 2 - told.fix.accuracy / 2 >= Self.distance
            || distance >= Self.distance && place.fix.accuracy <= Self.distance
    }
}
