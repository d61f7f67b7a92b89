package import NightshiftAPI

extension UseTrace {
    /// Reads the use from a trace of `simulate`: its `use` lines, and `idle` in its `device` lines if present.
    ///
    /// Without `idle`, the device is in use while an app is. The first quarter of the days is for learning, at most 14.
    /// Local time is UTC.
    package init(_ trace: Trace, name: String) {
        let start = trace.lines.first?.settings?.start ?? TraceSettings.defaultStart
        let midnight = (start / 86_400).rounded(.down) * 86_400
        let shift = start - midnight
        let tellsIdle = trace.lines.contains { $0.device?[.idle] != nil }
        var places: [AppID: Int] = [:]
        var apps: [AppID] = []
        var events: [Event] = []
        var front: Int?
        var isUsed = false
        func device(_ used: Bool, _ at: Double) {
            guard used != isUsed else { return }
            isUsed = used
            events.append(Event(at: at, kind: used ? .deviceUsed : .deviceLeft))
        }
        func leave(_ at: Double) {
            if let front { events.append(Event(at: at, kind: .left(front))) }
            front = nil
        }
        for line in trace.lines {
            let at = line.at + shift
            if let idle = line.device?[.idle] { device(!["yes", "true"].contains(idle), at) }
            guard let app = line.app, let use = line.use else { continue }
            let place = places[app] ?? apps.count
            if places[app] == nil {
                places[app] = place
                apps.append(app)
            }
            if use == .front {
                guard front != place else { continue }
                leave(at)
                if !tellsIdle { device(true, at) }
                events.append(Event(at: at, kind: .opened(place)))
                front = place
            } else if front == place {
                leave(at)
                if !tellsIdle { device(false, at) }
            }
        }
        let end = (trace.lines.last?.at ?? 0) + shift
        leave(end)
        device(false, end)
        let days = max(1, Int(saturating: (end / 86_400).rounded(.up)))
        self.init(name: name, apps: apps, events: events, counted: min(14, days / 4)..<days, start: midnight)
    }
}
