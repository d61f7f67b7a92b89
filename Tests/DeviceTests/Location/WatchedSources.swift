import Device
import Foundation
import NightshiftAPI
import TestSupport

/// The location sources, and their updates so far.
final class WatchedSources: Sendable {
    let monitor: DeviceMonitor
    let sources: LocationSources
    let told = Watched<[FixUpdate]>([])
    let hasEnded = Watched(false)
    private let listening: Task<Void, Never>

    /// - Parameter gpsd: the port of gpsd; nil if there is no gpsd.
    init(bus: String = "unix:path=/nonexistent/bus", gpsd: UInt16? = nil, trace: String? = nil) throws {
        monitor = try DeviceMonitor(
            trace.map { .trace(path: $0) } ?? .system(address: "unix:path=/nonexistent/bus"), freeSpaceOf: "/")
        let sources = LocationSources(
            monitor: monitor,
            environment: [
                "DBUS_SYSTEM_BUS_ADDRESS": bus, "NIGHTSHIFT_GPSD": gpsd.map { "127.0.0.1:\($0)" } ?? "none",
            ])
        self.sources = sources
        listening = Task { [told, hasEnded] in
            for await update in sources.updates { told.update { $0.append(update) } }
            hasEnded.update { $0 = true }
        }
        monitor.start()
        sources.start()
    }

    deinit {
        sources.shutdown()
        monitor.shutdown()
        listening.cancel()
    }

    var fixes: [(fix: Fix, source: String)] { told.read { $0.compactMap(\.fix) } }
    var cells: [String] { told.read { $0.compactMap(\.cell) } }
    /// The receiver seconds of the requests that have ended.
    var receiver: [Double] { told.read { $0.compactMap(\.receiver) } }
    var last: (statuses: [LocationStatus.SourceStatus], regions: Bool, changes: Bool)? {
        told.read { $0.compactMap(\.sources).last }
    }

    func wait(for what: String, _ isSatisfied: @escaping @Sendable ([FixUpdate]) -> Bool) async throws {
        do {
            try await told.wait(for: what, isSatisfied)
        } catch let error as WaitedTooLong {
            throw UnexpectedReport(description: "\(error); told \(told.read { $0 })")
        }
    }

    /// Waits until the sources were reported and satisfy the condition.
    func waitForSources(
        _ what: String, _ isSatisfied: @escaping @Sendable ([String: LocationStatus.SourceStatus]) -> Bool
    ) async throws {
        try await wait(for: what) { updates in
            guard let last = updates.compactMap(\.sources).last else { return false }
            return isSatisfied(Dictionary(last.statuses.map { ($0.name, $0) }) { first, _ in first })
        }
    }

    /// Waits until this number of requests have ended.
    func waitForEnd(of count: Int) async throws {
        try await wait(for: "the end of \(count) requests") { $0.compactMap(\.receiver).count >= count }
    }
}

extension FixUpdate {
    var fix: (fix: Fix, source: String)? { if case .fix(let fix, let source) = self { (fix, source) } else { nil } }
    var cell: String? { if case .cell(let cell, _) = self { cell } else { nil } }
    var receiver: Double? { if case .receiver(let seconds) = self { seconds } else { nil } }
    var sources: (statuses: [LocationStatus.SourceStatus], regions: Bool, changes: Bool)? {
        guard case .sources(let statuses, let regions, let changes) = self else { return nil }
        return (statuses, regions, changes)
    }
}
