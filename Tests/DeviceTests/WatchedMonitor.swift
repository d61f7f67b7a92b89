import Device
import Foundation
import NightshiftAPI
import TestSupport

/// A running monitor on a private bus, with its reports so far.
final class WatchedMonitor: Sendable {
    let monitor: DeviceMonitor
    /// The number of announced changes.
    let announcements = Watched(0)
    private let listening: Task<Void, Never>

    init(_ source: DeviceMonitor.Source, overrides: [DeviceKey: String] = [:]) throws {
        let monitor = try DeviceMonitor(source, freeSpaceOf: "/", overrides: overrides)
        self.monitor = monitor
        listening = Task { [announcements] in
            for await _ in monitor.changes { announcements.update { $0 += 1 } }
        }
        monitor.start()
    }

    convenience init(on bus: PrivateBus, overrides: [DeviceKey: String] = [:]) throws {
        try self.init(.system(address: bus.address), overrides: overrides)
    }

    deinit {
        monitor.shutdown()
        listening.cancel()
    }

    subscript(key: DeviceKey) -> String { monitor.report.conditions[key] }

    func source(_ key: DeviceKey) -> DeviceValue.Source? { monitor.report.values.first { $0.key == key }?.source }

    func provider(_ name: DeviceValue.Source) -> DeviceProvider? {
        monitor.report.providers.first { $0.name == name }
    }

    /// Waits for an announced report that satisfies the condition.
    func wait(
        for what: String, within bound: Duration = .seconds(20),
        _ isSatisfied: @escaping @Sendable (DeviceReport) -> Bool
    ) async throws {
        do {
            try await announcements.wait(within: bound, for: what) { [monitor] _ in isSatisfied(monitor.report) }
        } catch let error as WaitedTooLong {
            throw UnexpectedReport(description: "\(error); the report is \(monitor.report)")
        }
    }

    func wait(_ key: DeviceKey, is value: String, from source: DeviceValue.Source) async throws {
        try await wait(for: "\(key) \(value) from \(source)") { report in
            report.values.contains(DeviceValue(key: key, value: value, source: source))
        }
    }

    func wait(_ provider: DeviceValue.Source, isPresent: Bool, detail: String? = nil) async throws {
        try await wait(for: "\(provider) present \(isPresent) with \(detail ?? "any detail")") { report in
            report.providers.contains {
                guard $0.name == provider, $0.isPresent == isPresent else { return false }
                return detail.map(($0.detail ?? "").contains) ?? true
            }
        }
    }

    func waitUntilSettled() async throws {
        try await wait(for: "everybody's answer") { $0.isSettled }
    }
}

/// The error of a monitor that reported something other than the awaited report.
struct UnexpectedReport: Error, CustomStringConvertible {
    let description: String
}
