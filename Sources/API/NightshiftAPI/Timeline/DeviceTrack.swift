import Foundation

/// A reader that derives the activity of the device from the journal, entry by entry.
///
/// Times for which the activity is unknown have no spans: before the service's first entry, between two runs of the
/// service, and before the learned use was deleted.
struct DeviceTrack: Sendable {
    private var conditions: [DeviceKey: String] = [:]
    /// The present doze phase, or nil if it is unknown.
    private(set) var phase: DozePhase?
    private var isHeld = false
    private var isKnown = false
    private var activities: Track<Timeline.DeviceActivity>
    private var power: Track<PowerSource>
    private var network: Track<Timeline.NetworkUse>

    init(from start: Date) {
        activities = Track(from: start)
        power = Track(from: start)
        network = Track(from: start)
    }

    /// Handles the start of a run of the service, with the known state of the device.
    mutating func begin(_ known: KnownDevice, at time: Date) {
        isKnown = true
        conditions = known.conditions
        phase = known.phase
        isHeld = known.isHeld ?? false
        show(at: time, note: nil)
    }

    /// Handles the end of a run of the service.
    mutating func end(at time: Date) {
        isKnown = false
        conditions = [:]
        show(at: time, note: nil)
    }

    /// Handles the deletion of the learned use: the use of the device before `time` is unknown.
    mutating func forget(_ known: KnownDevice, at time: Date) {
        conditions[.idle] = known.conditions[.idle]
        phase = known.phase
        show(at: time, note: nil)
    }

    /// Reads an entry, and returns false if the entry is not about the device.
    mutating func read(_ entry: JournalEntry) -> Bool {
        switch entry.decision {
        case .deviceChanged, .serviceStarted:
            for (name, value) in entry.inputs ?? [:] {
                if let key = DeviceKey(rawValue: name) { conditions[key] = value }
            }
        case .deviceSlept: conditions[.sleeping] = "yes"
        case .deviceWoke: conditions[.sleeping] = "no"
        case .networkLost: conditions[.network] = "no"
        case .networkReturned: conditions[.network] = "yes"
        case .deviceHeldAwake: isHeld = true
        case .deviceReleased: isHeld = false
        case .dozeBegan, .windowClosed: phase = .dozing
        case .windowOpened: phase = .window
        case .dozeEnded: phase = .awake
        default: return false
        }
        show(at: entry.time, note: entry.detail)
        return true
    }

    mutating func finish(_ timeline: inout Timeline) {
        timeline.device = activities.finish(at: timeline.end)
        timeline.power = power.finish(at: timeline.end)
        timeline.network = network.finish(at: timeline.end)
    }

    private mutating func show(at time: Date, note: String?) {
        activities.change(to: isKnown ? activity : nil, at: time, note: note)
        power.change(to: isKnown ? conditions[.power].flatMap(PowerSource.init(rawValue:)) : nil, at: time)
        let isTold = conditions[.interface] != nil || conditions[.network] != nil
        network.change(
            to: isKnown && isTold
                ? Timeline.NetworkUse(
                    kind: conditions[.interface].flatMap(NetworkKind.init(rawValue:)),
                    isExpensive: conditions[.expensive] == "yes", isAvailable: conditions[.network] != "no") : nil,
            at: time)
    }

    /// The present activity, or nil if it is unknown.
    private var activity: Timeline.DeviceActivity? {
        if conditions[.sleeping] == "yes" { return .asleep }
        switch phase {
        case .window: return .window
        case .dozing: return .dozing
        case .awake, nil:
            if conditions[.idle] == "no" { return .inUse }
            // On external power the device does not doze, so the phase is known.
            guard conditions[.idle] != nil, phase != nil || conditions[.power] == "external" else { return nil }
            return isHeld ? .held : .awake
        }
    }
}

/// The known state of the device at one time.
struct KnownDevice: Sendable {
    var conditions: [DeviceKey: String] = [:]
    var phase: DozePhase?
    var isHeld: Bool?

    /// Derives the state before `entries`. If a condition has two possible values, it had the opposite value before its
    /// first change.
    ///
    /// - Parameters:
    ///   - entries: the later entries. They are read up to a start of the service or a deletion of the learned use.
    ///   - current: the present state, which applies to everything that `entries` do not change.
    init(before entries: ArraySlice<JournalEntry>, current: DeviceStatus?) {
        var told: Set<DeviceKey> = []
        func tell(_ key: DeviceKey, _ value: String?) {
            guard told.insert(key).inserted else { return }
            conditions[key] = value
        }
        for entry in entries {
            switch entry.decision {
            case .serviceStarted: return
            case .learnedForgotten where entry.app == nil: return
            case .deviceChanged:
                for (name, value) in entry.inputs ?? [:] {
                    if let key = DeviceKey(rawValue: name) { tell(key, Self.opposites[value]) }
                }
            case .deviceSlept: tell(.sleeping, "no")
            case .deviceWoke: tell(.sleeping, "yes")
            case .networkLost: tell(.network, "yes")
            case .networkReturned: tell(.network, "no")
            case .deviceHeldAwake: isHeld = isHeld ?? false
            case .deviceReleased: isHeld = isHeld ?? true
            case .dozeBegan: phase = phase ?? .awake
            case .windowOpened, .dozeEnded: phase = phase ?? .dozing
            case .windowClosed: phase = phase ?? .window
            default: break
            }
        }
        guard let current else { return }
        for key in DeviceKey.conditions { tell(key, current.conditions[key]) }
        phase = phase ?? current.doze.phase
        isHeld = isHeld ?? !current.holders.isEmpty
    }

    /// Derives the state at the start of a run of the service. The entries that follow contain the conditions.
    ///
    /// - Parameter phase: the phase at the end of the previous run.
    init(startOf entries: ArraySlice<JournalEntry>, phase left: DozePhase?, current: DeviceStatus?) {
        let later = KnownDevice(before: entries.dropFirst(), current: current)
        // A simulation and the first run of a service begin with a device that is awake.
        let isFirst = entries.first?.id == 1 || current == nil
        phase = left ?? later.phase ?? (isFirst ? .awake : nil)
        isHeld = false
    }

    private static let opposites = ["yes": "no", "no": "yes", "external": "battery", "battery": "external"]
}
