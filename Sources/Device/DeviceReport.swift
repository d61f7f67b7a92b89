package import NightshiftAPI

/// The device's values at one moment, each with its source.
package struct DeviceReport: Equatable, Sendable {
    package private(set) var conditions = DeviceConditions()
    /// All keys, in their order.
    package private(set) var values: [DeviceValue] = []
    package private(set) var providers: [DeviceProvider] = []
    /// Whether everybody has been asked and has answered, or has had the time to. What is assumed until then may be wrong.
    package private(set) var isSettled: Bool

    /// Overrides win, then the first reading that has a value; what nobody tells is assumed.
    init(readings: [ProviderReading], overrides: [DeviceKey: String], isSettled: Bool) {
        self.isSettled = isSettled
        for key in DeviceKey.allCases {
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
    }

    /// Whether decisions may come out otherwise than with `former`: free space changes all the time and alone is no news.
    func isNews(after former: DeviceReport) -> Bool {
        isSettled != former.isSettled || providers != former.providers
            || values.filter { !$0.isFreeSpace } != former.values.filter { !$0.isFreeSpace }
    }
}

extension DeviceValue {
    fileprivate var isFreeSpace: Bool { key == .freeBytes && source == .kernel }
}
