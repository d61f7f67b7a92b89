import Device
import NightshiftAPI
import TestSupport

/// A running monitor of a display, with its reports so far.
final class WatchedFocus: Sendable {
    let monitor: FocusMonitor
    /// All values that the monitor has delivered, in order.
    let told = Watched<[FrontApplication?]>([])
    private let listening: Task<Void, Never>

    init(_ environment: [String: String], session: @escaping @Sendable () -> [String: String]? = { nil }) {
        let monitor = FocusMonitor(environment: environment, session: session)
        self.monitor = monitor
        listening = Task { [told] in
            for await front in monitor.fronts { told.update { $0.append(front) } }
        }
        monitor.start()
    }

    deinit {
        monitor.shutdown()
        listening.cancel()
    }

    /// Waits until the last delivered value satisfies the condition.
    func wait(for what: String, _ isSatisfied: @escaping @Sendable (FrontApplication) -> Bool) async throws {
        try await waitUntilTold(what) { $0.map(isSatisfied) ?? false }
    }

    /// Waits until the last delivered value is an empty foreground.
    func waitForNothing() async throws {
        try await waitUntilTold("nothing in front") { $0 == nil }
    }

    private func waitUntilTold(
        _ what: String, _ isSatisfied: @escaping @Sendable (FrontApplication?) -> Bool
    ) async throws {
        do {
            try await told.wait(for: what) { $0.last.map(isSatisfied) ?? false }
        } catch let error as WaitedTooLong {
            throw UnexpectedReport(description: "\(error); told \(told.read { $0 }), \(monitor.report)")
        }
    }

    /// Waits for a report with this source. A change of source is not announced if the foreground is empty before and
    /// after.
    func wait(source: FrontStatus.Source?, detail: String? = nil) async throws {
        try await eventually("\(source?.rawValue ?? "nobody") to tell, \(detail ?? "")") {
            let report = monitor.report
            return report.source == source && (detail.map { (report.detail ?? "").contains($0) } ?? true)
        }
    }
}
