import Foundation
import NightshiftAPI

/// The lines of `nightshift device`.
struct DeviceStatusReport {
    var times: TimeText
    var style: Style

    func lines(_ device: DeviceStatus) -> [String] {
        var facts = Facts()
        facts.add("phase", phase(device.doze))
        facts.add("since", times.both(device.doze.since))
        facts.add(untilName(device.doze), device.doze.until.map { times.both($0) })
        for holder in device.holders { facts.add("kept awake", held(holder)) }
        facts.add("policy", AppText.policy(device.settings.backgroundPolicy))
        facts.add("warning time", lead(device))
        facts.add("foreground", front(device.front))
        facts.add("follow front", windows(device.settings))
        return [style.strong("The device")] + facts.lines + [""] + values(device) + missing(device)
    }

    private func phase(_ doze: DozeStatus) -> String {
        switch doze.phase {
        case .awake: "awake: " + (doze.awakeReason?.sentence ?? "")
        case .dozing: style.warning("dozing: background work is paused")
        case .window: style.good("maintenance window: ") + (doze.windowReason?.sentence ?? "")
        }
    }

    private func held(_ holder: AwakeHolder) -> String {
        let tasks = holder.tasks.map { TerminalText.escaped($0) }.joined(separator: ", ")
        return "by \(AppText.id(holder.app)) for \(tasks), since \(times.both(holder.since))"
    }

    /// Returns text such as "org.example.Photos (X11)".
    private func front(_ front: FrontStatus) -> String {
        guard let source = front.source else {
            return "unknown: " + TerminalText.escaped(front.detail ?? "no source reports it")
        }
        return (front.app.map { AppText.id($0) } ?? "no app that the service knows") + " (\(source.rawValue))"
    }

    private func windows(_ settings: DeviceSettings) -> String {
        settings.followsFront
            ? "on: the app of the focused window is in the foreground"
            : style.warning("off: the focused window does not decide which app is in the foreground")
    }

    private func values(_ device: DeviceStatus) -> [String] {
        let rows = device.values.map { value in
            (value.key.rawValue, TerminalText.escaped(text(value)), source(value.source))
        }
        let width = rows.map { TerminalText.width($0.1) }.max() ?? 0
        return rows.map { key, value, source in
            "  " + TerminalText.padded(key, to: 13) + TerminalText.padded(value, to: width) + "  " + source
        }
    }

    private func text(_ value: DeviceValue) -> String {
        switch value.key {
        case .battery where value.value != "none": value.value + " %"
        case .freeBytes: Int64(value.value).map { QuantityText.size($0) } ?? value.value
        default: value.value
        }
    }

    private func source(_ source: DeviceValue.Source) -> String {
        switch source {
        case .override: style.warning("set by 'nightshift device set'")
        case .trace: style.warning("from a trace")
        case .assumed: style.faint("assumed")
        case .upower, .powerProfiles, .networkManager, .logind, .kernel: source.rawValue
        }
    }

    private func missing(_ device: DeviceStatus) -> [String] {
        var reasons: [(text: String, names: [String])] = []
        for provider in device.providers where !provider.isPresent || provider.detail != nil {
            let text = (provider.isPresent ? ": " : " not available: ") + (provider.detail ?? "The reason is unknown.")
            // If there is no bus, all sources on it have the same reason.
            if let index = reasons.firstIndex(where: { $0.text == text }) {
                reasons[index].names.append(provider.name.rawValue)
            } else {
                reasons.append((text, [provider.name.rawValue]))
            }
        }
        guard !reasons.isEmpty else { return [] }
        return [""] + reasons.map { "  " + $0.names.joined(separator: ", ") + TerminalText.escaped($0.text) }
    }

    /// Returns a line such as "dozing: background work is paused, next window 2026-11-21 12:10:00 (in 10 min)".
    func line(_ doze: DozeStatus) -> String {
        let phase = phase(doze)
        guard let until = doze.until else { return phase }
        let name = untilName(doze)
        return phase + (phase.hasSuffix(".") ? " It \(name) " : ", \(name) ") + times.both(until)
    }

    /// Returns the settings and overrides of the device.
    func lines(settings device: DeviceStatus) -> [String] {
        var facts = Facts()
        facts.add("policy", AppText.policy(device.settings.backgroundPolicy))
        facts.add("warning time", lead(device))
        facts.add("follow front", windows(device.settings))
        // The conditions may follow later. The settings are stored already.
        for key in DeviceKey.allCases {
            guard let value = device.settings.overrides[key] else { continue }
            let text = text(DeviceValue(key: key, value: value, source: .override))
            facts.add(key.rawValue, TerminalText.escaped(text) + ", " + source(.override))
        }
        return [line(device.doze)] + facts.lines
    }

    private func untilName(_ doze: DozeStatus) -> String { doze.phase == .window ? "closes by" : "next window" }

    private func lead(_ device: DeviceStatus) -> String {
        QuantityText.duration(device.settings.expirationLead) + " before the end of the background time"
    }
}
