import Foundation
import NightshiftAPI

/// The lines of `nightshift refresh`: the budget, and one line for each app.
struct RefreshReport {
    var columns: Int
    var style: Style
    var times: TimeText

    func lines(_ status: RefreshStatus) -> [String] {
        var facts = Facts()
        facts.add("now", status.sentence.map { TerminalText.escaped($0) })
        facts.add("energy", energy(status.budget))
        facts.add("data", data(status.budget))
        facts.add("next check", status.nextLook.map { times.both($0) })
        let state = status.isOn ? style.good("on") : style.warning("off for all apps")
        return [style.strong("Background refresh") + ": " + state] + facts.lines + [""] + table(status.apps)
    }

    private func energy(_ budget: RefreshBudgetStatus) -> String {
        // The value is rounded before the comparison, so that "-0 J" is never shown.
        let left = budget.energyLeft.rounded()
        return String(
            format: left < 0 ? "%.0f J over budget, %.0f J a day" : "%.0f J left, %.0f J a day", abs(left),
            budget.dailyEnergy)
    }

    private func data(_ budget: RefreshBudgetStatus) -> String {
        let left = Int64(saturating: budget.bytesLeft.rounded())
        return QuantityText.size(Int64(clamping: left.magnitude)) + (left < 0 ? " over budget, " : " left, ")
            + QuantityText.size(Int64(saturating: budget.dailyBytes)) + " a day"
    }

    private func table(_ apps: [AppRefreshStatus]) -> [String] {
        guard !apps.isEmpty else {
            return [
                "No app uses background refresh. An app declares it in its desktop entry with "
                    + "X-Nightshift-BackgroundModes=fetch;"
            ]
        }
        let widest = columns == .max ? Int.max : max(20, columns / 3)
        let rows = apps.map { app in
            [
                TerminalText.shortened(AppText.id(app.app), to: widest), interval(app), last(app), next(app), why(app),
            ]
        }
        let heads = ["ID", "INTERVAL", "LAST FETCH", "NEXT", "NOW"]
        let widths = heads.indices.dropLast().map { column in
            ([heads] + rows).map { TerminalText.width($0[column]) }.max() ?? 0
        }
        func row(_ cells: [String]) -> String {
            let padded = zip(cells, widths).map { TerminalText.padded($0, to: $1) } + cells.suffix(1)
            return TerminalText.clipped(padded.joined(separator: "  "), to: columns)
        }
        return [style.strong(row(heads))]
            + zip(apps, rows).map { app, cells in
                if app.availability != .available { return style.faint(row(cells)) }
                return app.fetches.last?.result == .failed ? style.bad(row(cells)) : row(cells)
            }
    }

    private func interval(_ app: AppRefreshStatus) -> String {
        switch app.availability {
        case .available: RefreshText.interval(app.interval)
        case .denied: "off"
        case .restricted: "undeclared"
        }
    }

    private func last(_ app: AppRefreshStatus) -> String {
        app.fetches.last.map { "\(RefreshText.result($0)), \(times.relative($0.ended ?? $0.began))" } ?? "-"
    }

    /// Returns text such as "in 24 min (12:15 to 12:40)".
    private func next(_ app: AppRefreshStatus) -> String {
        guard let expected = app.expected else { return "-" }
        let words = expected > times.now ? times.relative(expected) : "now"
        // In a narrow window, the space is needed for the reason.
        guard columns >= Self.wide, let opens = app.windowOpens, let closes = app.windowCloses else { return words }
        return "\(words) (\(times.clock(opens)) to \(times.clock(closes)))"
    }

    private static let wide = 120

    private func why(_ app: AppRefreshStatus) -> String {
        let tasks = app.scheduled.count
        let words = TerminalText.escaped(app.sentence)
        return tasks == 0 ? words : words + (tasks == 1 ? " 1 scheduled task." : " \(tasks) scheduled tasks.")
    }
}
