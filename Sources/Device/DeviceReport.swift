package import NightshiftAPI

/// The device's values at one time, each with its source.
package struct DeviceReport: Equatable, Sendable {
    package private(set) var conditions = DeviceConditions()
    /// The values in the order of the conditions' keys, followed by the location if one is set. The location's own
    /// value is not shown.
    package private(set) var values: [DeviceValue] = []
    package private(set) var providers: [DeviceProvider] = []
    /// Whether every source has answered or has exceeded its time. Values assumed before that may be wrong.
    package private(set) var isSettled: Bool
    /// The location that is set by an override or played by a trace. It is private and appears in no other part of the
    /// report.
    private(set) var place: LocationSetting?

    /// Combines the readings. Overrides come first, then the first reading that has a value. Values without a source
    /// are assumed.
    init(readings: [ProviderReading], overrides: [DeviceKey: String], isSettled: Bool) {
        self.isSettled = isSettled
        for key in DeviceKey.conditions {
            var source = DeviceValue.Source.assumed
            if let text = overrides[key], conditions.set(key, to: text) {
                source = .override
            } else if let reading = readings.first(where: { $0.values[key] != nil }), let text = reading.values[key],
                conditions.set(key, to: text)
            {
                source = reading.source
            }
            values.append(DeviceValue(key: key, value: conditions[key], source: source))
        }
        providers = readings.map(\.provider)
        if let text = overrides[.location], let word = LocationSetting(text) {
            place = word
            values.append(DeviceValue(key: .location, value: word.shown, source: .override))
        } else if let reading = readings.first(where: { $0.values[.location] != nil }),
            let word = reading.values[.location].flatMap(LocationSetting.init)
        {
            place = word
            values.append(DeviceValue(key: .location, value: word.shown, source: reading.source))
        }
    }

    /// Carries the count of sleeps over from the previous report.
    ///
    /// - Parameter slept: whether the clocks show that the machine has slept since then. An announced sleep was already
    ///   counted when it began.
    mutating func countSleeps(after former: DeviceReport, slept: Bool) {
        let begins = conditions.isSleeping || slept
        conditions.sleeps = former.conditions.sleeps + (begins && !former.conditions.isSleeping ? 1 : 0)
    }

    /// Whether decisions may differ from those for `former`. Free space changes all the time and does not count alone.
    func isNews(after former: DeviceReport) -> Bool {
        isSettled != former.isSettled || providers != former.providers
            || conditions.sleeps != former.conditions.sleeps
            || values.filter { !$0.isFreeSpace } != former.values.filter { !$0.isFreeSpace }
    }
}

extension DeviceValue {
    fileprivate var isFreeSpace: Bool { key == .freeBytes && source == .kernel }
}
