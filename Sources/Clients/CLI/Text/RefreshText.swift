import Foundation
import NightshiftAPI

/// Short texts for background fetches and scheduled tasks.
enum RefreshText {
    static func interval(_ interval: RefreshInterval) -> String {
        switch interval {
        case .never: "never"
        case .minimum: "minimum"
        case .seconds(let seconds): QuantityText.duration(seconds)
        }
    }

    static func source(_ source: AppRefreshStatus.IntervalSource) -> String {
        switch source {
        case .app: "set by the app"
        case .entry: "from its desktop entry"
        case .user: "set by you"
        }
    }

    static func result(_ fetch: FetchRecord) -> String {
        fetch.result?.words ?? (fetch.ended == nil ? "running" : "result unknown")
    }

    static func kind(_ kind: ScheduledTask.Kind) -> String {
        switch kind {
        case .refresh: "refresh"
        case .processing: "processing"
        case .continued: "continued"
        }
    }

    /// Returns text such as "3 of 12 (25 %)" or "3 done", or nil if no progress was reported.
    static func progress(_ progress: ScheduledTaskProgress) -> String? {
        guard let completed = progress.completedUnits else { return nil }
        guard let total = progress.totalUnits, let percent = QuantityText.percent(done: completed, of: total) else {
            return "\(completed) done"
        }
        return "\(completed) of \(total) (\(percent) %)"
    }

    /// Returns the expected number of openings per hour as bars, one column for each hour: "00 ▁▁▁▁▁▁█▃▁… 24". Returns
    /// nil if nothing was learned yet.
    static func openings(_ halfHours: [Double]) -> String? {
        guard halfHours.count > 1, let most = halfHours.max(), most > 0, most.isFinite else { return nil }
        let hours = stride(from: 0, to: halfHours.count, by: 2).map { index in
            halfHours[index..<min(index + 2, halfHours.count)].reduce(0, +)
        }
        let highest = hours.max() ?? 1
        let bars = hours.map { hour in
            let step = Int(saturating: (max(0, hour) / highest * Double(Self.bars.count - 1)).rounded())
            return String(Self.bars[min(max(0, step), Self.bars.count - 1)])
        }
        return "00 " + bars.joined() + " 24"
    }

    private static let bars = Array("▁▂▃▄▅▆▇█")
}
