import Foundation
import NightshiftAPI

/// The activity of a device, its apps and its transfers over time, as spans that can be drawn.
struct Timeline: Hashable, Sendable {
    var start: Date
    var end: Date
    var device: [Span<DeviceActivity>] = []
    var power: [Span<PowerSource>] = []
    var network: [Span<NetworkUse>] = []
    var apps: [AppRow] = []
    var transfers: [TransferRow] = []
    /// The number of transfers in rows that did not fit into the picture.
    var hidden = 0

    /// A period during which a value did not change.
    struct Span<Value: Hashable & Sendable>: Hashable, Sendable {
        var from: Date
        var to: Date
        var value: Value
        /// Details that a browser shows at the pointer.
        var note: String?

        var seconds: Double { to.timeIntervalSince(from) }
    }

    /// The activity of the device. If the device is awake, the activity says why.
    enum DeviceActivity: String, Sendable, CaseIterable {
        case inUse
        /// The activity of a device that is awake, but neither in use nor dozing.
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

    /// The row of one app.
    struct AppRow: Hashable, Sendable {
        var id: AppID
        var states: [Span<AppActivity>] = []
        /// The app's background tasks. The value of each span is the name of the task.
        var tasks: [Span<String>] = []
        var marks: [Mark] = []
        var refresh = RefreshRow()
    }

    enum AppActivity: String, Sendable, CaseIterable {
        case active
        case inactive
        case background
        /// The state of an app in the background whose work doze has paused.
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

    /// An event of an app.
    struct Mark: Hashable, Sendable {
        var at: Date
        var kind: Kind
        var note: String

        enum Kind: String, Sendable, CaseIterable {
            case woken
            case expiring
            /// The event that the service ended the app.
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

    /// The row of one transfer. If an app has many transfers, the row of all its transfers.
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

    /// The number of seconds for which the activity of the device is unknown.
    var unknownSeconds: Double { seconds - device.reduce(0) { $0 + $1.seconds } }

    /// Whether the device dozed at any time.
    var hasDoze: Bool { device.contains { $0.value == .dozing || $0.value == .window } }
}

/// The spans of one value, built from its changes.
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
        // A span without length is not drawn. If the wall clock was set back, a span must not get a negative length.
        guard time > since else { return }
        if let value { spans.append(Timeline.Span(from: since, to: time, value: value, note: note)) }
        since = time
    }
}
