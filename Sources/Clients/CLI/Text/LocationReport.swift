import Foundation
import NightshiftAPI

/// The tables of `nightshift location` and `nightshift region list`.
struct LocationReport {
    var columns: Int
    var style: Style
    var times: TimeText

    func lines(_ status: LocationStatus) -> [String] {
        var facts = Facts()
        for source in status.sources {
            let words = TerminalText.escaped(source.sentence)
            facts.add(TerminalText.escaped(source.name), source.isAvailable ? words : style.faint(words))
        }
        facts.add("next fix", status.nextFix.map { times.both($0) } ?? "none: the receiver is off")
        for app in status.apps {
            guard let updates = app.updates, updates.isOn else { continue }
            facts.add(
                "on now", "\(AppText.id(app.app)) requests updates, \(LocationText.updates(updates, times))")
        }
        return [style.strong("Location")] + facts.lines + [""] + table(status.apps)
    }

    func lines(regionsOf apps: [AppLocationStatus]) -> [String] {
        let rows = apps.flatMap { app in
            app.regions.map { status in
                [
                    TerminalText.shortened(AppText.id(app.app), to: widest),
                    TerminalText.shortened(TerminalText.escaped(status.region.identifier), to: widest),
                    LocationText.place(status.region.center), LocationText.distance(status.region.radius),
                    LocationText.crossings(status.region), status.state.wording.short, crossings(status),
                ]
            }
        }
        return lines(["APP", "REGION", "CENTRE", "RADIUS", "NOTIFIES ON", "STATE", "EVENTS"], rows)
    }

    private func table(_ apps: [AppLocationStatus]) -> [String] {
        guard !apps.isEmpty else {
            return [
                "No app uses the location. Add a region for an app with: "
                    + "nightshift region add IDENTIFIER LAT,LON RADIUS --app ID"
            ]
        }
        let rows = apps.map { app in
            [
                TerminalText.shortened(AppText.id(app.app), to: widest), LocationText.permission(app.permission),
                String(app.regions.count), app.monitorsSignificantChanges ? "yes" : "-", String(app.wakes),
                QuantityText.duration(app.receiverSecondsToday), TerminalText.escaped(app.sentence),
            ]
        }
        return lines(["ID", "ALLOWED", "REGIONS", "CHANGES", "WOKEN", "RECEIVER TODAY", "NOW"], rows)
    }

    /// Returns a table. The last column is not padded.
    private func lines(_ heads: [String], _ rows: [[String]]) -> [String] {
        let widths = heads.indices.dropLast().map { column in
            ([heads] + rows).map { TerminalText.width($0[column]) }.max() ?? 0
        }
        func row(_ cells: [String]) -> String {
            let padded = zip(cells, widths).map { TerminalText.padded($0, to: $1) } + cells.suffix(1)
            return TerminalText.clipped(padded.joined(separator: "  "), to: columns)
        }
        return [style.strong(row(heads))] + rows.map { row($0) }
    }

    private func crossings(_ status: RegionStatus) -> String {
        guard status.crossings > 0 else { return "none" }
        let last = status.lastCrossing.map { ", last " + times.relative($0) }
        return String(status.crossings) + (last ?? "")
    }

    private var widest: Int { columns == .max ? .max : max(20, columns / 3) }
}
