import Foundation
import NightshiftAPI

/// The lines of `app refresh`, and the section of `app show` and `app why` about background refresh.
struct AppRefreshReport {
    var times: TimeText
    var style: Style

    func lines(_ status: AppRefreshStatus) -> [String] {
        let name = status.name.isEmpty || status.name == status.app.rawValue ? nil : TerminalText.escaped(status.name)
        return [style.strong(AppText.id(status.app) + (name.map { ": \($0)" } ?? ""))] + facts(status)
            + fetches(status) + tasks(status)
    }

    /// Returns the section about background refresh. It is empty if the app does not use background refresh.
    func section(_ status: AppRefreshStatus) -> [String] {
        let takesPart =
            status.availability != .restricted || status.interval != .never || !status.fetches.isEmpty
            || !status.scheduled.isEmpty
        guard takesPart else { return [] }
        return ["Background refresh:"] + facts(status) + fetches(status) + tasks(status)
    }

    /// Returns a line such as "feeds.clean: processing, waiting since 2026-11-21 11:42:10. The device is in use."
    func line(_ task: ScheduledTaskStatus) -> String {
        var words = TerminalText.escaped(task.task.identifier) + ": " + RefreshText.kind(task.task.kind)
        let title = task.progress?.title ?? task.task.title
        if let title { words += ", '\(TerminalText.escaped(title))'" }
        if let subtitle = task.progress?.subtitle ?? task.task.subtitle, !subtitle.isEmpty {
            words += " \(TerminalText.escaped(subtitle))"
        }
        if let began = task.began {
            words += ", running since \(times.both(began))"
        } else {
            words += ", waiting since \(times.both(task.submitted))"
        }
        if let progress = task.progress.flatMap({ RefreshText.progress($0) }) { words += ", " + progress }
        if let until = task.until { words += ", until \(times.both(until))" }
        return words + (task.sentence.map { ". " + TerminalText.escaped($0) } ?? "")
    }

    private func facts(_ status: AppRefreshStatus) -> [String] {
        var facts = Facts()
        facts.add("refresh", availability(status))
        facts.add("interval", interval(status))
        facts.add("fetch now", verdict(status))
        facts.add("next", next(status))
        for sentence in status.inFavour { facts.add("in favour", TerminalText.escaped(sentence)) }
        for sentence in status.against where sentence != status.sentence {
            facts.add("against", TerminalText.escaped(sentence))
        }
        facts.add("last use", status.lastUse.map { times.both($0) })
        facts.add("opened", RefreshText.openings(status.openings))
        return facts.lines
    }

    /// Returns whether the service would fetch now, and why.
    private func verdict(_ status: AppRefreshStatus) -> String {
        let sentence = TerminalText.escaped(status.sentence)
        return switch status.hold {
        case nil: "yes. \(sentence)"
        case "underWay": sentence
        default: "no. \(sentence)"
        }
    }

    private func availability(_ status: AppRefreshStatus) -> String {
        switch status.availability {
        case .available: style.good("on")
        case .denied: style.warning(status.isOn ? "off for all apps" : "off for this app")
        case .restricted: style.warning("not declared as a background mode in its desktop entry")
        }
    }

    private func interval(_ status: AppRefreshStatus) -> String {
        var words = RefreshText.interval(status.interval)
        // The value `never` can also mean that no interval was set.
        if status.hasInterval {
            words += " (\(RefreshText.source(status.intervalSource)))"
        }
        if let cap = status.dailyCap { words += ", at most \(cap) a day" }
        return words
    }

    private func next(_ status: AppRefreshStatus) -> String? {
        guard let expected = status.expected else { return nil }
        guard let opens = status.windowOpens, let closes = status.windowCloses else { return times.both(expected) }
        return "\(times.both(expected)), best between \(times.absolute(opens)) and \(times.absolute(closes))"
    }

    private func fetches(_ status: AppRefreshStatus) -> [String] {
        guard !status.fetches.isEmpty else { return [] }
        return ["Fetches:"]
            + status.fetches.suffix(Self.mostFetches).map { fetch in
                var words = "  \(times.absolute(fetch.began))  "
                if let ended = fetch.ended {
                    words += QuantityText.duration(ended.timeIntervalSince(fetch.began)) + ", "
                }
                let result = RefreshText.result(fetch)
                words += fetch.result == .failed ? style.bad(result) : result
                if fetch.bytes > 0 { words += ", " + QuantityText.size(fetch.bytes) }
                if let identifier = fetch.identifier { words += ", for " + TerminalText.escaped(identifier) }
                return words + (fetch.detail.map { ": " + TerminalText.escaped($0) } ?? "")
            }
    }

    private func tasks(_ status: AppRefreshStatus) -> [String] {
        status.scheduled.isEmpty ? [] : ["Scheduled tasks:"] + status.scheduled.map { "  " + line($0) }
    }

    private static let mostFetches = 10
}
