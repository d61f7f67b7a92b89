package import NightshiftAPI

/// The use of one device by one person, to which refresh strategies are applied.
package struct UseTrace: Sendable {
    package var name: String
    /// The apps. Events name them by their index.
    package var apps: [AppID]
    /// The events, in order of time.
    package var events: [Event]
    /// The days that are counted. Earlier days are for learning.
    package var counted: Range<Int>
    /// The start of the trace in seconds since 1970, which is a local midnight.
    package var start: Double

    package struct Event: Hashable, Sendable {
        /// The number of seconds since the trace began.
        package var at: Double
        package var kind: Kind

        package init(at: Double, kind: Kind) {
            self.at = at
            self.kind = kind
        }
    }

    package enum Kind: Hashable, Sendable {
        case deviceUsed
        case deviceLeft
        case opened(Int)
        case left(Int)
        /// A wake of the device for another reason.
        case otherWake
    }

    package init(name: String, apps: [AppID], events: [Event], counted: Range<Int>, start: Double) {
        self.name = name
        self.apps = apps
        self.events = events
        self.counted = counted
        self.start = start
    }

    /// The counted time, in seconds since the trace began.
    package var countedTime: Range<Double> { Double(counted.lowerBound) * 86_400..<Double(counted.upperBound) * 86_400 }

    package func counts(_ time: Double) -> Bool { countedTime.contains(time) }

    /// The beginning and end of every use of each app.
    package var uses: [[ClosedRange<Double>]] {
        var uses = [[ClosedRange<Double>]](repeating: [], count: apps.count)
        var since = [Double?](repeating: nil, count: apps.count)
        for event in events {
            switch event.kind {
            case .opened(let app): since[app] = since[app] ?? event.at
            case .left(let app):
                if let begun = since[app] { uses[app].append(begun...event.at) }
                since[app] = nil
            case .deviceUsed, .deviceLeft, .otherWake: break
            }
        }
        return uses
    }

    /// The times at which the user was awake, known in hindsight: all time except the longest time without use from
    /// noon to noon.
    package var awake: [Range<Double>] {
        let uses = events.filter { $0.kind == .deviceUsed || $0.kind == .deviceLeft }.map(\.at)
        let end = Double(counted.upperBound) * 86_400
        var awake: [Range<Double>] = []
        var from = 0.0
        for noon in stride(from: -43_200.0, to: end, by: 86_400) {
            let moments =
                [max(noon, from)] + uses.filter { $0 > max(noon, from) && $0 < noon + 86_400 } + [noon + 86_400]
            let gaps = zip(moments, moments.dropFirst()).map { $0..<max($0, $1) }
            guard let night = gaps.max(by: { $0.upperBound - $0.lowerBound < $1.upperBound - $1.lowerBound }),
                night.upperBound - night.lowerBound >= 10_800
            else { continue }
            if night.lowerBound > from { awake.append(from..<night.lowerBound) }
            from = night.upperBound
        }
        if end > from { awake.append(from..<end) }
        return awake
    }
}
