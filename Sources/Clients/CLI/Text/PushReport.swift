import Foundation
import NightshiftAPI

/// The lines of `push status` and `push why`, and the section of `app show` and `app why` about remote notifications.
struct PushReport {
    var times: TimeText
    var style: Style

    func lines(_ status: PushStatus) -> [String] {
        var facts = Facts()
        facts.add("now", times.words(status.sentence))
        facts.add(
            "gateway",
            status.enrolment.map { "\(TerminalText.escaped($0.host)):\($0.port), since \(times.both($0.enrolled))" })
        facts.add("device", status.enrolment.map { TerminalText.escaped($0.device) })
        facts.add("keep-alive", status.keepAlive.map { "every " + QuantityText.duration($0) })
        facts.add("next", status.next.map { times.both($0) })
        facts.add("last message", status.lastHeard.map { times.both($0) })
        return [style.strong("Remote notifications") + ": " + connection(status)] + facts.lines + [""]
            + table(status) + registrations(status.unifiedPush)
    }

    func lines(_ status: AppPushStatus) -> [String] {
        let name = status.name.isEmpty || status.name == status.app.rawValue ? nil : TerminalText.escaped(status.name)
        return [style.strong(AppText.id(status.app) + (name.map { ": \($0)" } ?? ""))] + facts(status) + pushes(status)
            + registrations(status.unifiedPush)
    }

    /// Returns the section about remote notifications. It is empty if the app has never registered.
    func section(_ status: AppPushStatus) -> [String] {
        guard status.isRegistered || !status.pushes.isEmpty else { return registrations(status.unifiedPush) }
        return ["Remote notifications:"] + facts(status) + pushes(status) + registrations(status.unifiedPush)
    }

    private func connection(_ status: PushStatus) -> String {
        switch status.connection {
        case .off: "off"
        case .connecting: "connecting"
        case .open: style.good("connected")
        case .waiting: style.warning("not connected")
        case .offline: style.warning("no network")
        }
    }

    /// Returns lines for each registration: the app, its description of the registration, and the state of its
    /// messages.
    private func registrations(_ registrations: [UnifiedPushStatus]?) -> [String] {
        guard let registrations, !registrations.isEmpty else { return [] }
        return ["UnifiedPush:"]
            + registrations.flatMap { registration in
                let about = registration.about.isEmpty ? "" : " (\(TerminalText.escaped(registration.about)))"
                let waiting = registration.waiting == 0 ? "" : ", \(registration.waiting) waiting"
                let last = registration.last.map { "last message \(times.relative($0))" } ?? "no message yet"
                let sentence = times.words(registration.sentence)
                return [
                    "  \(AppText.id(registration.app))\(about): \(last)\(waiting). \(sentence)",
                    registration.endpoint.map { "    " + TerminalText.escaped($0) },
                ].compactMap(\.self)
            }
    }

    private func table(_ status: PushStatus) -> [String] {
        let apps = status.apps
        guard !apps.isEmpty || status.unifiedPush != nil else {
            return ["No app is registered. 'nightshift push token ID' registers an app that does not register itself."]
        }
        return apps.map { app in
            let last = app.pushes.last.map { "last push \(times.relative($0.received))" } ?? "no push yet"
            return "\(AppText.id(app.app)): \(last). \(times.words(app.sentence))"
        }
    }

    private func facts(_ status: AppPushStatus) -> [String] {
        var facts = Facts()
        facts.add("now", times.words(status.sentence))
        facts.add("token", status.token.map { TerminalText.escaped($0) })
        facts.add("no token", status.error.map { TerminalText.escaped($0) })
        facts.add("alerts", alerts(status))
        facts.add(
            "waiting",
            status.waiting.map { "since \(times.both($0.received)): \(times.words($0.sentence))" })
        return facts.lines
    }

    private func alerts(_ status: AppPushStatus) -> String {
        let command = "'nightshift app notifications \(AppText.id(status.app)) --allow'"
        return switch status.alerts {
        case .ask: style.warning("kept until you allow or deny them; \(command) shows them")
        case .denied: style.warning("not shown, because you denied them; \(command) shows future ones")
        case .allowed: "shown"
        case .provisional: "shown without a sound"
        }
    }

    private func pushes(_ status: AppPushStatus) -> [String] {
        guard !status.pushes.isEmpty else { return [] }
        return ["Last pushes:"] + status.pushes.suffix(Self.mostPushes).map { "  " + line($0) }
    }

    /// Returns a line such as "2026-11-21 11:50:00  silent, priority 5: handled in 2 s, new data. The app was woken for
    /// it."
    func line(_ push: PushRecord) -> String {
        let kind = push.isSilent ? "silent" : push.hasAlert ? "alert" : "background"
        var words = "\(times.absolute(push.received))  \(kind), priority \(push.priority): \(state(push))"
        if let woken = push.woken, let ended = push.ended {
            words += " in " + QuantityText.duration(ended.timeIntervalSince(woken))
        }
        if let result = push.result { words += ", " + result.words }
        if let shown = push.shown { words += ", shown at \(times.clock(shown))" }
        return words + ". " + times.words(push.sentence)
    }

    private func state(_ push: PushRecord) -> String {
        switch push.state {
        case .handled where push.result == .failed: style.bad(push.state.name)
        case .notShown, .discarded: style.warning(push.state.name)
        case .waiting, .running, .handled, .shown: push.state.name
        }
    }

    private static let mostPushes = 10
}
