import Foundation
import NightshiftAPI

/// The lines of `app location` and `region add`, and the section of `app show` and `app why` about location.
struct AppLocationReport {
    var times: TimeText
    var style: Style

    func lines(_ status: AppLocationStatus) -> [String] {
        let name = status.name.isEmpty || status.name == status.app.rawValue ? nil : TerminalText.escaped(status.name)
        return [style.strong(AppText.id(status.app) + (name.map { ": \($0)" } ?? ""))] + facts(status)
            + regions(status)
    }

    /// Returns the section about location. It is empty if the app does not use the location.
    func section(_ status: AppLocationStatus) -> [String] {
        let takesPart =
            status.permission != .ask || status.reason != nil || !status.regions.isEmpty
            || status.monitorsSignificantChanges || status.wakes > 0 || status.updates != nil
        guard takesPart else { return [] }
        return ["Location:"] + facts(status) + regions(status)
    }

    /// Returns lines about an added region. If its events do not wake the app, the lines say why.
    func lines(added identifier: String, _ status: AppLocationStatus) -> [String] {
        let added = status.regions.first { $0.region.identifier == identifier }
        var lines = [AppText.id(status.app) + ": " + (added.map { line($0) } ?? TerminalText.escaped(identifier))]
        if status.permission != .always { lines.append(TerminalText.escaped(status.sentence)) }
        if status.permission == .whenInUse {
            lines.append("To let region events wake it: nightshift app location \(AppText.id(status.app)) --always")
        }
        return lines
    }

    /// Returns lines about one region of an app, which also say whether its events wake the app.
    func lines(region: RegionStatus, of status: AppLocationStatus) -> [String] {
        let heading = "\(TerminalText.escaped(region.region.identifier)) of \(AppText.id(status.app))"
        return [style.strong(heading), "  " + line(region)]
            + (status.sentence.isEmpty ? [] : ["  " + TerminalText.escaped(status.sentence)])
    }

    private func facts(_ status: AppLocationStatus) -> [String] {
        var facts = Facts()
        let words = LocationText.permission(status.permission)
        switch status.permission {
        case .always: facts.add("allowed", style.good(words))
        case .whenInUse: facts.add("allowed", words)
        case .denied, .ask: facts.add("allowed", style.warning(words))
        }
        facts.add("reason", status.reason.map { TerminalText.escaped($0) })
        facts.add("now", status.sentence.isEmpty ? nil : TerminalText.escaped(status.sentence))
        facts.add("changes", status.monitorsSignificantChanges ? "the app is notified of significant changes" : nil)
        facts.add("updates", status.updates.map { LocationText.updates($0, times) })
        facts.add("woken", status.wakes == 0 ? "never" : LocationText.times(status.wakes))
        facts.add(
            "receiver",
            "on for \(QuantityText.duration(status.receiverSecondsToday)) today, "
                + "\(QuantityText.duration(status.receiverSeconds)) in total")
        return facts.lines
    }

    private func regions(_ status: AppLocationStatus) -> [String] {
        status.regions.isEmpty ? [] : ["Regions:"] + status.regions.map { "  " + line($0) }
    }

    /// Returns a line such as "home: inside, 150 m around 52.51630,13.37770, notifies on entry; 3 events, last
    /// 2026-11-21 11:42:10".
    private func line(_ status: RegionStatus) -> String {
        let region = status.region
        var words =
            TerminalText.escaped(region.identifier) + ": " + status.state.wording.short + ", "
            + LocationText.distance(region.radius) + " around " + LocationText.place(region.center) + ", notifies on "
            + LocationText.crossings(region)
        if status.crossings > 0 { words += "; " + (status.crossings == 1 ? "1 event" : "\(status.crossings) events") }
        if let last = status.lastCrossing { words += ", last \(times.both(last))" }
        return words
    }
}
