import Foundation
import NightshiftAPI

/// The totals of a simulation as lines.
struct TotalsReport {
    var totals: SimulationTotals
    var style: Style

    var lines: [String] {
        device + apps + refresh + location + transfers
    }

    private var device: [String] {
        let length = totals.end.timeIntervalSince(totals.start)
        var lines = [style.strong("The device, in \(QuantityText.duration(length))")]
        let parts = [
            ("in use", totals.inUse), ("awake", totals.awake), ("in windows", totals.inWindows),
            ("dozing", totals.dozing), ("asleep", totals.asleep),
        ]
        for (name, seconds) in parts where seconds > 0 {
            lines.append(
                row(name, QuantityText.duration(seconds), String(format: "%5.1f %%", seconds / max(1, length) * 100)))
        }
        lines.append(row("wake-ups", String(totals.wakeUps)))
        for window in totals.windows {
            lines.append(row(window.count == 1 ? "window" : "windows", String(window.count), window.reason.sentence))
        }
        return lines
    }

    private var apps: [String] {
        guard !totals.apps.isEmpty else { return [] }
        let names = totals.apps.map { TerminalText.escaped($0.app.rawValue) }
        let width = names.map(TerminalText.width).max() ?? 0
        let columns = ["foreground", "background", "kept awake", "launches", "wakes"]
        var lines = ["", style.strong("Apps")]
        lines.append(
            style.faint(
                "  " + String(repeating: " ", count: width) + columns.map { "  " + aligned($0) }.joined() + "  ended"))
        for (app, name) in zip(totals.apps, names) {
            let cells = [
                QuantityText.duration(app.foreground), QuantityText.duration(app.background),
                QuantityText.duration(app.held), String(app.launches), String(app.wakes),
            ]
            let kills = app.kills.map { style.bad("\($0.cause.rawValue) \($0.count)") }.joined(separator: ", ")
            lines.append(
                "  " + TerminalText.padded(name, to: width) + cells.map { "  " + aligned($0) }.joined() + "  "
                    + (kills.isEmpty ? "-" : kills))
        }
        return lines
    }

    private var refresh: [String] {
        guard let sums = totals.refresh else { return [] }
        let results = [(sums.newData, "with new data"), (sums.noData, "with nothing new"), (sums.failed, "failed")]
        var lines = [
            "", style.strong("Background refresh"),
            row(
                "fetches", String(sums.fetches),
                results.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")),
        ]
        if sums.openings > 0 {
            let percent = Double(sums.freshOpenings) / Double(sums.openings) * 100
            lines.append(
                row(
                    "fresh", "\(sums.freshOpenings) of \(sums.openings)",
                    String(format: "%5.1f %% of the openings of apps with background refresh", percent)))
        }
        lines.append(
            row("device wakes", String(sums.deviceWakes), "for fetches; \(sums.savedWakes) fetches needed no wake"))
        if sums.processing > 0 {
            lines.append(row("processing", "\(sums.processed) of \(sums.processing)", "tasks completed"))
        }
        return lines
    }

    private var location: [String] {
        guard let sums = totals.location else { return [] }
        let counts = [(sums.entered, "entered"), (sums.left, "left")].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        var lines = [
            "", style.strong("Location"),
            row("region events", String(sums.entered + sums.left), counts.joined(separator: ", ")),
        ]
        if sums.changes > 0 { lines.append(row("changes", String(sums.changes), "significant changes")) }
        lines.append(row("wakes", String(sums.wakes), "for region events and significant changes"))
        let words = "\(sums.fixes) \(sums.fixes == 1 ? "fix" : "fixes")"
        lines.append(row("receiver", QuantityText.duration(sums.receiverSeconds), words))
        return lines
    }

    private var transfers: [String] {
        let sums = totals.transfers
        guard sums.accepted > 0 else { return [] }
        var lines = ["", style.strong("Transfers")]
        lines.append(
            row(
                "completed", "\(sums.completed) of \(sums.accepted)",
                [(sums.failed, "failed"), (sums.cancelled, "cancelled"), (sums.interruptions, "times interrupted")]
                    .filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")))
        for network in totals.networks {
            lines.append(
                row(
                    "over \(network.kind.rawValue)", QuantityText.size(network.bytes),
                    network.isExpensive ? "metered" : ""))
        }
        for wait in totals.waits {
            lines.append(
                row(
                    "waited", QuantityText.duration(wait.sum),
                    "\(wait.transfers) \(wait.transfers == 1 ? "transfer" : "transfers"), "
                        + "longest wait \(QuantityText.duration(wait.longest)). \(wait.reason.sentence)"))
        }
        return lines
    }

    private func aligned(_ text: String) -> String { TerminalText.rightAligned(text, to: 12) }

    private func row(_ name: String, _ value: String, _ rest: String = "") -> String {
        let line = "  " + TerminalText.padded(name, to: 16) + TerminalText.rightAligned(value, to: 14)
        return rest.isEmpty ? line : line + "  " + rest
    }
}
