package import NightshiftAPI

/// When the device is somewhere else for an app that wants significant changes only.
///
/// Pure. A new cell or 500 m is a change, at least five minutes after the one before; the first thing told is the last place that is known.
package struct SignificantChange: Hashable, Sendable, Codable {
    private var told: Place?
    /// When that was told, on the clock of fixes.
    private var toldAt = 0.0
    /// The newest place that was not told because the last one was told a short while ago.
    private var held: Place?

    /// Where the device is, as coarsely as it is known.
    package struct Place: Hashable, Sendable, Codable {
        package var fix: Fix
        /// The cell as the modem names it; nil where there is none.
        package var cell: String?

        package init(fix: Fix, cell: String? = nil) {
            self.fix = fix
            self.cell = cell
        }
    }

    package static let distance = 500.0
    package static let pause = 300.0

    package init() {}

    /// - Returns: the place to tell now.
    package mutating func moved(to place: Place) -> Place? {
        guard let told else { return tell(place, now: place.fix.time) }
        guard place.fix.time >= told.fix.time else { return nil }
        guard isSignificant(place, since: told) else {
            // It is back where it was: nothing is left to tell.
            held = nil
            // The modem has begun to say in which cell that is.
            if told.cell == nil { self.told?.cell = place.cell }
            return nil
        }
        held = place
        return tick(now: place.fix.time)
    }

    /// Time has passed.
    ///
    /// - Returns: the place to tell now.
    package mutating func tick(now: Double) -> Place? {
        guard let held, let due, now >= due else { return nil }
        return tell(held, now: now)
    }

    /// When ``tick(now:)`` has something to tell; nil while it has not.
    package var due: Double? { held == nil ? nil : toldAt + Self.pause }

    /// The clock of fixes began anew.
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
        // For certain: what the sources do not know for sure is no change.
        let distance = told.fix.place.distance(to: place.fix.place)
        return distance - place.fix.accuracy / 2 - told.fix.accuracy / 2 >= Self.distance
            || distance >= Self.distance && place.fix.accuracy <= Self.distance
    }
}
