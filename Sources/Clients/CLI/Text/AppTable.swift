import Foundation
import NightshiftAPI

/// The lines of `nightshift app list`.
struct AppTable {
    var columns: Int
    var style: Style
    var times: TimeText

    /// The maximum number of columns for an id, which leaves space for the rest of the line.
    private var widestID: Int { columns == .max ? .max : max(20, columns / 3) }

    func lines(_ apps: [AppStatus]) -> [String] {
        let ids = apps.map { TerminalText.shortened(AppText.id($0.id), to: widestID) }
        let width = ids.map { TerminalText.width($0) }.max() ?? 0
        return [style.strong(TerminalText.clipped(row("ID", "STATE", "PROCESS", "NAME", width: width), to: columns))]
            + zip(apps, ids).map { line($0, id: $1, width: width) }
    }

    private func line(_ app: AppStatus, id: String, width: Int) -> String {
        let notes = notes(app)
        let text = TerminalText.clipped(
            row(
                id, app.state.name, app.processID.map { String($0) } ?? "-",
                (AppText.name(app) ?? "-") + (notes.isEmpty ? "" : "  (" + notes.joined(separator: "; ") + ")"),
                width: width),
            to: columns)
        switch app.state {
        case .active, .inactive, .background: return text
        case .notRunning where app.faults > 0: return style.bad(text)
        case .notRunning, .suspended: return style.faint(text)
        }
    }

    /// Returns remarks about facts that are unusual for an app.
    private func notes(_ app: AppStatus) -> [String] {
        var notes: [String] = []
        if app.isForceQuit { notes.append("force-quit") }
        notes += app.wakes.map { ($0.deadline == nil ? "to be woken for " : "woken for ") + AppText.wake($0) }
        if app.faults > 0 {
            let pause = app.launchesPausedUntil.flatMap { $0 > times.now ? ", launched " + times.relative($0) : nil }
            notes.append((app.faults == 1 ? "1 crash" : "\(app.faults) crashes in a row") + (pause ?? ""))
        }
        if app.manifest == nil { notes.append("no desktop entry") }
        return notes
    }

    private func row(_ id: String, _ state: String, _ process: String, _ name: String, width: Int) -> String {
        [
            TerminalText.padded(id, to: width), TerminalText.padded(state, to: 11),
            TerminalText.rightAligned(process, to: 7), name,
        ].joined(separator: "  ")
    }
}
