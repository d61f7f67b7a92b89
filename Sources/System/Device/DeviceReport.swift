package import NightshiftAPI

/// The device's values at one time, each with its source.
package struct DeviceReport: Equatable, Sendable {
    package private(set) var conditions = DeviceConditions()
    /// The values in the order of the condition keys, followed by an entry for the location if one is set. That entry
    /// does not show the location itself.
    package private(set) var values: [DeviceValue] = []
    package private(set) var providers: [DeviceProvider] = []
    /// Whether every source has answered or its time has passed. Until then, assumed values may be wrong.
    package private(set) var isSettled: Bool
    /// The location that an override or a trace sets. It is private, and no other part of the report contains it.
    private(set) var place: LocationSetting?

    /// Combines the readings. An override takes precedence, then the first reading with a value. A value that no source
    /// reports is assumed.
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

    /// Adds the number of sleeps of the previous report to that of this one.
    ///
    /// - Parameter slept: whether the clocks show that the machine has slept since the previous report. A sleep that
    ///   was announced has already been counted when it began.
    mutating func countSleeps(after former: DeviceReport, slept: Bool) {
        let begins = conditions.isSleeping || slept
        conditions.sleeps = former.conditions.sleeps + (begins && !former.conditions.isSleeping ? 1 : 0)
    }

    /// Whether this report may lead to other decisions than `former`. Free space changes all the time, so a change of
    /// free space alone does not count.
    func isNews(after former: DeviceReport) -> Bool {
        isSettled != former.isSettled || providers != former.providers
            || conditions.sleeps != former.conditions.sleeps
            || values.filter { !$0.isFreeSpace } != former.values.filter { !$0.isFreeSpace }
    }
}

extension DeviceValue {
    fileprivate var isFreeSpace: Bool { key == .freeBytes && source == .kernel }
}
