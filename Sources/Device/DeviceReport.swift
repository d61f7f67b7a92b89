package import NightshiftAPI

/// The device's values at one moment, each with its source.
package struct DeviceReport: Equatable, Sendable {
    package private(set) var conditions = DeviceConditions()
    /// The conditions' keys, in their order, and behind them the place where one is set, without saying which.
    package private(set) var values: [DeviceValue] = []
    package private(set) var providers: [DeviceProvider] = []
    /// Whether everybody has been asked and has answered, or has had the time to. What is assumed until then may be wrong.
    package private(set) var isSettled: Bool
    /// The place that is put in place of what sources tell, or played. Private: in no other part of the report.
    private(set) var place: PlaceWord?

    /// Overrides win, then the first reading that has a value; what nobody tells is assumed.
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
        if let text = overrides[.location], let word = PlaceWord(text) {
            place = word
            values.append(DeviceValue(key: .location, value: word.shown, source: .override))
        } else if let reading = readings.first(where: { $0.values[.location] != nil }),
            let word = reading.values[.location].flatMap(PlaceWord.init)
        {
            place = word
            values.append(DeviceValue(key: .location, value: word.shown, source: reading.source))
        }
    }

    /// Takes the count of sleeps over from the report before this one.
    ///
    /// - Parameter slept: whether the clocks say that the machine has slept since then. A sleep that was announced has been
    ///   counted when it began.
    mutating func countSleeps(after former: DeviceReport, slept: Bool) {
        let begins = conditions.isSleeping || slept
        conditions.sleeps = former.conditions.sleeps + (begins && !former.conditions.isSleeping ? 1 : 0)
    }

    /// Whether decisions may come out otherwise than with `former`: free space changes all the time and alone is no news.
    func isNews(after former: DeviceReport) -> Bool {
        isSettled != former.isSettled || providers != former.providers
            || conditions.sleeps != former.conditions.sleeps
            || values.filter { !$0.isFreeSpace } != former.values.filter { !$0.isFreeSpace }
    }
}

extension DeviceValue {
    fileprivate var isFreeSpace: Bool { key == .freeBytes && source == .kernel }
}
