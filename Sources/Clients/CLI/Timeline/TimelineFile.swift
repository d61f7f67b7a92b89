import Foundation
import NightshiftAPI

/// The method that writes a timeline to a file.
extension Invocation {
    /// Writes a timeline as SVG.
    ///
    /// - Parameter path: the path as the user typed it; `-` means standard output.
    func write(_ timeline: Timeline, title: String, timeZone: TimeZone, to path: String) throws {
        let svg = Data(TimelineDrawing.svg(timeline, title: title, timeZone: timeZone).utf8)
        guard path != "-" else { return output.write(svg) }
        _ = try write(svg, to: absolute(path), isReplacing: true)
    }
}

/// The JSON that describes a timeline that was drawn.
struct TimelineReport: Encodable {
    var file: String
    var from: Date
    var to: Date
    var apps: Int
    var transfers: Int
    var fetches: Int
    /// The number of openings for which the freshness of the content is known. ``freshOpenings`` is the number of those
    /// with fresh content.
    var openings: Int
    var freshOpenings: Int

    init(_ timeline: Timeline, file: String) {
        self.file = file
        from = timeline.start
        to = timeline.end
        apps = timeline.apps.count
        transfers = timeline.transfers.reduce(timeline.hidden) { $0 + $1.count }
        let refresh = timeline.apps.map(\.refresh)
        fetches = refresh.reduce(0) { $0 + $1.fetches.count }
        freshOpenings = refresh.reduce(0) { $0 + $1.count(.fresh) }
        openings = refresh.reduce(freshOpenings) { $0 + $1.count(.stale) }
    }

    /// A summary such as "evening.svg: 2 apps, 6 transfers, 2 h 40 min; 12 fetches, 9 of 11 openings with fresh
    /// content".
    var line: String {
        let length = QuantityText.duration(to.timeIntervalSince(from))
        return "\(TerminalText.escaped(file)): \(apps) \(apps == 1 ? "app" : "apps"), "
            + "\(transfers) \(transfers == 1 ? "transfer" : "transfers"), \(length)" + refresh
    }

    private var refresh: String {
        let parts = [
            fetches > 0 ? "\(fetches) \(fetches == 1 ? "fetch" : "fetches")" : nil,
            openings > 0 ? "\(freshOpenings) of \(openings) openings with fresh content" : nil,
        ].compactMap(\.self)
        return parts.isEmpty ? "" : "; " + parts.joined(separator: ", ")
    }
}
