import Foundation
import NightshiftAPI

/// What a device, its apps and its transfers did over a time, as spans that can be drawn.
struct Timeline: Hashable, Sendable {
    var start: Date
    var end: Date
    var device: [Span<DeviceActivity>] = []
    var power: [Span<PowerSource>] = []
    var network: [Span<NetworkUse>] = []
    var apps: [AppRow] = []
    var transfers: [TransferRow] = []
    /// Rows of transfers that there was no room for, and how many transfers are in them.
    var hidden = 0

    /// From a moment to another one, something is the same.
    struct Span<Value: Hashable & Sendable>: Hashable, Sendable {
        var from: Date
        var to: Date
        var value: Value
        /// What a reader may want to know of it.
        var note: String?

        var seconds: Double { to.timeIntervalSince(from) }
    }

    /// What keeps the device awake, or what it does instead.
    enum DeviceActivity: String, Sendable, CaseIterable {
        case inUse
        /// Nobody uses it, and it does not doze.
        case awake
        case held
        case window
        case dozing
        case asleep

        var words: String {
            switch self {
            case .inUse: "in use"
            case .awake: "awake"
            case .held: "kept awake by an app"
            case .window: "maintenance window"
            case .dozing: "dozing"
            case .asleep: "asleep"
            }
        }
    }

    struct NetworkUse: Hashable, Sendable {
        var kind: NetworkKind?
        var isExpensive: Bool
        var isAvailable: Bool

        var words: String {
            guard isAvailable else { return "no network" }
            return (kind?.rawValue ?? "network") + (isExpensive ? ", metered" : "")
        }
    }

    /// One app.
    struct AppRow: Hashable, Sendable {
        var id: AppID
        var states: [Span<AppActivity>] = []
        /// Background tasks, by name.
        var tasks: [Span<String>] = []
        var marks: [Mark] = []
        var refresh = RefreshRow()
    }

    enum AppActivity: String, Sendable, CaseIterable {
        case active
        case inactive
        case background
        /// In the background, while its time stands still.
        case standing
        case suspended

        var words: String {
            switch self {
            case .active: "active"
            case .inactive: "inactive"
            case .background: "in the background"
            case .standing: "paused by doze"
            case .suspended: "suspended"
            }
        }
    }

    /// Something that happens to an app at one moment.
    struct Mark: Hashable, Sendable {
        var at: Date
        var kind: Kind
        var note: String

        enum Kind: String, Sendable, CaseIterable {
            case woken
            case expiring
            /// The service ended it.
            case killed

            var words: String {
                switch self {
                case .woken: "woken"
                case .expiring: "notified that its time is nearly over"
                case .killed: "ended by the service"
                }
            }
        }
    }

    /// A transfer, or all of one app where there are many.
    struct TransferRow: Hashable, Sendable {
        var label: String
        var count: Int
        var spans: [Span<TransferActivity>]
    }

    enum TransferActivity: Int, Sendable, CaseIterable {
        case waiting
        case running
    }

    var seconds: Double { max(1, end.timeIntervalSince(start)) }

    /// Seconds of which nobody knows what the device did.
    var unknownSeconds: Double { seconds - device.reduce(0) { $0 + $1.seconds } }

    /// Whether the device dozed at all.
    var hasDoze: Bool { device.contains { $0.value == .dozing || $0.value == .window } }
}

/// A value over time, as it is put together from one change after the other.
struct Track<Value: Hashable & Sendable>: Sendable {
    private(set) var spans: [Timeline.Span<Value>] = []
    private var value: Value?
    private var since: Date
    private var note: String?

    init(from start: Date, value: Value? = nil) {
        self.value = value
        since = start
    }

    var current: Value? { value }

    mutating func change(to new: Value?, at time: Date, note newNote: String? = nil) {
        guard new != value else { return }
        close(at: time)
        value = new
        note = newNote
    }

    mutating func finish(at end: Date) -> [Timeline.Span<Value>] {
        close(at: end)
        value = nil
        return spans
    }

    private mutating func close(at time: Date) {
        // Spans without length are not drawn, and a wall clock that was set back must not draw backwards.
        guard time > since else { return }
        if let value { spans.append(Timeline.Span(from: since, to: time, value: value, note: note)) }
        since = time
    }
}
