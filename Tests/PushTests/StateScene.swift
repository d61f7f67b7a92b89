import Foundation
import NightshiftAPI
import Push
import PushProtocol
import Store

/// A push state whose disk accepts every write, and whose wakes end as the test requires.
struct StateScene: Sendable {
    var book: PushState
    /// The state that the disk contains.
    private var durable: PushState
    var now: Double
    /// The contents of the disk.
    var pushes: [String: KnownPush] = [:]
    var payloads: [String: Data] = [:]
    var apps: [AppID: PushApp] = [:]
    var device: PushDevice?
    /// The push of each wake, by the wake's number.
    var numbers: [Int64: String] = [:]
    /// The wakes that exist.
    var rows: [(id: String, number: Int64, wake: PushWake)] = []
    /// The ends of wakes that were not handled yet.
    var ends: [StoredWakeEnd] = []
    var lastWake: Int64 = 0
    var lastEnd: Int64 = 0
    /// The notifications that wait for their app.
    var held: [String] { pushes.values.compactMap { $0.waitingAlert?.notification.identifier } }
    /// The notifications that may be shown.
    var due: [String] = []
    var entries: [JournalEntry] = []
    var told: Set<AppID> = []
    private var lastID: UInt64 = 0

    static let app = AppID(rawValue: "org.example.app")
    static let other = AppID(rawValue: "org.example.other")
    static let start = 1_800_000_000.0

    init(modes: Set<BackgroundMode> = [.remoteNotification], registers: Bool = true) throws {
        now = Self.start
        book = PushState(now: now)
        durable = book
        for app in [Self.app, Self.other] { book.installed(app, Self.manifest(app, modes), now: now) }
        guard registers else { return }
        book.enrolled(Self.enrolment, authority: nil, now: now)
        for app in [Self.app, Self.other] {
            try book.register(app, now: now)
            book.registered(app.rawValue, token: "00ff", now: now)
        }
        look()
    }

    static let enrolment = PushStatus.Enrolment(
        host: "push.example", port: 2_196, device: "00000000-0000-4000-8000-000000000001",
        enrolled: Date(timeIntervalSince1970: start))

    static func manifest(_ app: AppID, _ modes: Set<BackgroundMode> = [.remoteNotification]) -> AppManifest {
        var manifest = AppManifest(id: app, name: "App", entry: "/app.desktop", command: ["app"])
        manifest.modes = modes
        return manifest
    }

    // MARK: - Inputs

    /// Makes the next decisions, and writes the changes.
    mutating func look() {
        book.decide(at: now)
        write(book.changes(since: durable))
        book.wrote(book)
        durable = book
        told.formUnion(book.takeTold())
    }

    mutating func write(_ changes: PushChanges) {
        for case .remove(let app) in changes.outputs {
            apps[app] = nil
            pushes = pushes.filter { $0.value.app != app }
            rows.removeAll { $0.wake.app == app }
            ends.removeAll { $0.app == app }
        }
        apps.merge(changes.apps) { $1 }
        device = changes.device ?? device
        for push in changes.pushes {
            pushes[push.record.id] = push
            payloads[push.record.id] = changes.payloads[push.record.id]
        }
        for output in changes.outputs {
            switch output {
            case .wake(let wake):
                lastWake += 1
                numbers[lastWake] = wake.id
                rows.removeAll { $0.wake.app == wake.app && $0.wake.key == wake.key }
                rows.append((wake.id, lastWake, wake))
            case .alert(let alert): due.append(alert.notification.identifier)
            case .endTaken(let id): ends.removeAll { $0.id == id }
            case .remove: break
            }
        }
        for id in changes.forgotten { pushes[id] = nil }
        entries += changes.entries
    }

    static let silent = #"{"aps":{"content-available":1},"n":1}"#
    static let alert = #"{"aps":{"alert":{"title":"T","body":"B"}}}"#
    static let both = #"{"aps":{"alert":"B","content-available":1}}"#

    mutating func message(
        _ payload: String = StateScene.silent, for app: AppID = StateScene.app, priority: PushPriority = .considerate,
        expires: Double? = 86_400, collapse: String? = nil
    ) -> Message {
        lastID += 1
        return Message(
            id: PushID(high: 0, low: lastID), topic: app.rawValue, timestamp: Int64(saturating: now * 1_000),
            expiry: expires.map { Int64(saturating: now + $0) }, priority: priority, type: .alert, collapseID: collapse,
            isFromStorage: false, payload: Array(payload.utf8))
    }

    /// - Returns: the push's id.
    @discardableResult
    mutating func receive(_ message: Message) -> String {
        book.received(message, now: now)
        look()
        return message.id.description
    }

    mutating func pass(_ seconds: Double) {
        now += seconds
        look()
    }

    mutating func device(_ phase: DozePhase = .awake, _ change: (inout DeviceConditions) -> Void = { _ in }) {
        var conditions = DeviceConditions()
        change(&conditions)
        book.apply(DeviceState(conditions: conditions, phase: phase))
        look()
    }

    /// The newest wake of each app.
    var wakes: [AppID: (id: String, number: Int64, wake: PushWake)] {
        Dictionary(rows.map { ($0.wake.app, $0) }) { $1 }
    }

    /// Ends the oldest wake of an app, and writes the end as the app's machine would.
    mutating func endWake(_ app: AppID = StateScene.app, _ result: RefreshResult = .newData, _ detail: String? = nil) {
        guard let wake = rows.first(where: { $0.wake.app == app }) else { return }
        addEnd(app, wake.number, result, detail)
        takeEnds()
    }

    mutating func addEnd(_ app: AppID, _ number: Int64, _ result: RefreshResult, _ detail: String? = nil) {
        lastEnd += 1
        rows.removeAll { $0.number == number }
        ends.append(
            StoredWakeEnd(
                id: lastEnd, app: app, source: .push, key: "", wake: number,
                end: WakeEnd(result: result, detail: detail, time: now)))
    }

    mutating func takeEnds() {
        book.take(ends.map { PushEnd(row: $0, push: numbers[$0.wake]) }, now: now)
        look()
    }

    /// Restarts the service with the contents of the disk.
    mutating func restart() {
        var kept = StoredPushes<PushApp, PushDevice, KnownPush>()
        kept.apps = apps
        kept.device = device
        kept.pushes = pushes.values.sorted { $0.number < $1.number }.map { push in
            StoredPush(
                id: push.record.id, app: push.app, record: push, payload: payloads[push.record.id],
                wake: numbers.first { $0.value == push.record.id }?.key)
        }
        let moment = book.moment
        let manifests = Array(book.manifests.values)
        durable = PushState(kept, now: now)
        book = durable
        book.apply(moment)
        book.begin(
            manifests, ends: ends.map { PushEnd(row: $0, push: numbers[$0.wake]) }, wanted: Set(rows.map(\.id)),
            now: now)
        look()
    }

    // MARK: - Results

    func record(_ id: String) -> PushRecord? { pushes[id]?.record }
    func state(_ id: String) -> PushRecord.State? { record(id)?.state }
    func sentence(_ id: String) -> String { record(id)?.sentence ?? "" }
}
