package import Foundation

/// The activity of a device, its apps and its transfers over time, as spans that can be drawn.
package struct Timeline: Hashable, Sendable, Encodable {
    package var start: Date
    package var end: Date
    package var device: [Span<DeviceActivity>] = []
    package var power: [Span<PowerSource>] = []
    package var network: [Span<NetworkUse>] = []
    package var apps: [AppRow] = []
    package var transfers: [TransferRow] = []
    /// The number of transfers in rows that did not fit into the picture.
    package var hidden = 0

    /// A period during which a value did not change.
    package struct Span<Value: Hashable & Sendable & Encodable>: Hashable, Sendable, Encodable {
        package var from: Date
        package var to: Date
        package var value: Value
        /// Details that a browser shows at the pointer.
        package var note: String?

        package var seconds: Double { to.timeIntervalSince(from) }
    }

    /// The activity of the device. If the device is awake, the activity says why.
    package enum DeviceActivity: String, Sendable, Encodable, CaseIterable {
        case inUse
        /// The activity of a device that is awake, but neither in use nor dozing.
        case awake
        case held
        case window
        case dozing
        case asleep

        package var words: String {
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

    package struct NetworkUse: Hashable, Sendable, Encodable {
        package var kind: NetworkKind?
        package var isExpensive: Bool
        package var isAvailable: Bool

        package var words: String {
            guard isAvailable else { return "no network" }
            return (kind?.rawValue ?? "network") + (isExpensive ? ", metered" : "")
        }
    }

    /// The row of one app.
    package struct AppRow: Hashable, Sendable, Encodable {
        package var id: AppID
        package var states: [Span<AppActivity>] = []
        /// The app's background tasks. The value of each span is the name of the task.
        package var tasks: [Span<String>] = []
        package var marks: [Mark] = []
        package var refresh = RefreshRow()

        /// The parts that the page draws.
        private enum CodingKeys: CodingKey {
            case id, states, tasks, marks
        }
    }

    package enum AppActivity: String, Sendable, Encodable, CaseIterable {
        case active
        case inactive
        case background
        /// The state of an app in the background whose work doze has paused.
        case standing
        case suspended

        package var words: String {
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
    package struct Mark: Hashable, Sendable, Encodable {
        package var at: Date
        package var kind: Kind
        package var note: String

        package enum Kind: String, Sendable, Encodable, CaseIterable {
            case woken
            case expiring
            /// The event that the service ended the app.
            case killed

            package var words: String {
                switch self {
                case .woken: "woken"
                case .expiring: "notified that its time is nearly over"
                case .killed: "ended by the service"
                }
            }
        }
    }

    /// The row of one transfer. If an app has many transfers, the row of all its transfers.
    package struct TransferRow: Hashable, Sendable, Encodable {
        package var label: String
        /// The transfer; nil for a row of several transfers.
        package var task: TaskID?
        package var count: Int
        package var spans: [Span<TransferActivity>]
    }

    package enum TransferActivity: String, Sendable, Encodable, CaseIterable {
        case waiting
        case running
    }

    package var seconds: Double { max(1, end.timeIntervalSince(start)) }

    /// The number of seconds for which the activity of the device is unknown.
    package var unknownSeconds: Double { seconds - device.reduce(0) { $0 + $1.seconds } }

    /// Whether the device dozed at any time.
    package var hasDoze: Bool { device.contains { $0.value == .dozing || $0.value == .window } }
}

/// The spans of one value, built from its changes.
struct Track<Value: Hashable & Sendable & Encodable>: Sendable {
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
