import NightshiftAPI
import Synchronization

/// The latest report of the device, made of the readings and the overrides.
final class CurrentReport: Sendable {
    private struct State {
        var readings: [ProviderReading]
        var overrides: [DeviceKey: String]
        var isSettled = false
        var report: DeviceReport
        var placeListener: (@Sendable (LocationSetting?) -> Void)?
    }

    private let state: Mutex<State>

    init(readings: [ProviderReading], overrides: [DeviceKey: String]) {
        state = Mutex(
            State(
                readings: readings, overrides: overrides,
                report: DeviceReport(readings: readings, overrides: overrides, isSettled: false)))
    }

    var report: DeviceReport { state.withLock { $0.report } }

    /// Calls `listener` with the location that is set, now and after each change. The calls are made in order under
    /// this object's lock, so the last call has the current location. The listener must not block or call this object.
    func listenForPlace(_ listener: @escaping @Sendable (LocationSetting?) -> Void) {
        state.withLock { state in
            state.placeListener = listener
            listener(state.report.place)
        }
    }

    /// Replaces all overrides. Returns whether the change must be announced.
    func setOverrides(_ overrides: [DeviceKey: String]) -> Bool {
        update { $0.overrides = overrides }
    }

    /// Replaces the readings. Once a report is settled, all later ones are settled too. Returns whether the change must
    /// be announced.
    ///
    /// - Parameter slept: whether the clocks show that the machine has slept since the last report.
    func setReadings(_ readings: [ProviderReading], isSettled: Bool, slept: Bool = false) -> Bool {
        update(slept: slept) {
            $0.readings = readings
            $0.isSettled = $0.isSettled || isSettled
        }
    }

    private func update(slept: Bool = false, _ change: (inout State) -> Void) -> Bool {
        state.withLock { state in
            change(&state)
            var report = DeviceReport(
                readings: state.readings, overrides: state.overrides, isSettled: state.isSettled)
            // Sleeps are counted here, because every report passes through this method, while readers see only the
            // latest report.
            report.countSleeps(after: state.report, slept: slept)
            defer { state.report = report }
            if report.place != state.report.place { state.placeListener?(report.place) }
            return report.isNews(after: state.report)
        }
    }
}
