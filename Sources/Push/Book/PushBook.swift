import Foundation
package import NightshiftAPI
package import PushProtocol
package import Store

/// Everything that is known of remote notifications: which apps have registered, what came, and what becomes of it.
///
/// Pure: pushes, moments, requests and ends of wakes go in. ``look(_:)`` decides, ``takeChanges()`` gives what one transaction writes, and
/// ``takeTold()`` which apps are told something behind that. Times are seconds since 1970. See `docs/decisions/0044`.
package struct PushBook: Sendable {
    package internal(set) var device: PushDevice
    package internal(set) var apps: [AppID: PushApp] = [:]
    /// What the entries of installed apps say.
    package internal(set) var manifests: [AppID: AppManifest] = [:]
    package internal(set) var moment = DeviceMoment()
    /// By their ids. Those that are done stay for a while, so that a second delivery is known.
    package internal(set) var pushes: [String: KnownPush] = [:]
    /// Ids in the order in which they came.
    var order: [String] = []
    /// Of pushes whose app was not woken yet.
    var payloads: [String: Data] = [:]
    var lastNumber: Int64 = 0
    package internal(set) var inFront: Set<AppID> = []
    /// Where background refresh is not available, by its own word.
    var switchedOff: Set<AppID> = []
    package internal(set) var permissions: [AppID: NotificationPermission] = [:]
    /// Whether the wall clock has gone on for long enough to be held against a date that a sender has set.
    package var trustsClock = true
    /// Seconds since 1970 at which to decide again, if nothing happens before.
    package internal(set) var nextLook: Double?
    var marks = Marks()
    /// Apps whose processes are told of their token.
    var told: Set<AppID> = []

    /// What is not on disk yet.
    struct Marks: Sendable {
        var removed: Set<AppID> = []
        var apps: Set<AppID> = []
        var device = false
        var pushes: Set<String> = []
        var received: Set<String> = []
        var wakes: [PushWake] = []
        var alerts: [PushAlert] = []
        var releases: [AlertRelease] = []
        var forgotten: [String] = []
        var ends: [Int64] = []
        var entries: [JournalEntry] = []
    }

    /// Apps that may have registered: the gateway takes filters for twice as many.
    package static let appLimit = 500
    /// Pushes that are done and remembered: the last ones, however old they are by a wall clock that may be wrong.
    package static let remembered = 1_000
    /// Pushes with an alert that one app handles at a time, and as many that wait for it: each of them is the app's. A provider
    /// could otherwise fill the disk of a device whose app does not come to them.
    package static let mostRunning = 32
    package static let mostWaiting = 32
    /// Seconds for which a wake may wait to begin whose push names no later end.
    static let patience = 900.0
    /// Seconds for which the wall clock has to go on, behind a start or behind its being set, before it is trusted.
    package static let clockPatience = 900.0
    /// Seconds that a notification waits for its app: a wake's 30, and the 20 that a launch may take before them.
    package static let alertPatience = 50.0

    package init(now: Double) { device = PushDevice(now: now) }

    /// The book as it was kept.
    package init(
        _ kept: StoredPushes<PushApp, PushDevice, KnownPush>, manifests: [AppManifest], moment: DeviceMoment,
        now: Double
    ) {
        device = kept.device ?? PushDevice(now: now)
        apps = kept.apps
        self.manifests = Dictionary(manifests.map { ($0.id, $0) }) { $1 }
        self.moment = moment
        for push in kept.pushes {
            pushes[push.id] = push.record
            // An earlier version said so as soon as it had handed the alert on.
            if push.record.record.state == .shown, push.record.record.shown == nil {
                pushes[push.id]?.record.state = .notShown
            }
            payloads[push.id] = push.payload
            lastNumber = max(lastNumber, push.record.number)
        }
        order = pushes.keys.sorted { (pushes[$0]?.number ?? 0, $0) < (pushes[$1]?.number ?? 0, $1) }
        for what in kept.unreadable { note(.unreadable, nil, what, now) }
    }

    /// The service begins: decides what goes on of what was under way when the last one ended. Behind the ends that are known.
    ///
    /// - Parameter wanted: the pushes whose wakes' rows are there.
    package mutating func resume(_ wanted: Set<String>, now: Double) {
        for app in apps.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            let running = order.filter { pushes[$0]?.app == app && pushes[$0]?.record.state == .running }
            let silent = running.filter { pushes[$0]?.record.isSilent == true }
            // A silent one whose row was replaced may still be with its app: the next one's end tells.
            let known = silent.last.map(wanted.contains) == true ? wanted.union(silent) : wanted
            for id in running where !known.contains(id) {
                conclude(id, .failed, "Its wake is gone.", at: now, isDropped: true, now)
            }
        }
    }

    mutating func note(
        _ decision: Decision, _ app: AppID?, _ detail: String?, _ now: Double, inputs: [String: String]? = nil
    ) {
        marks.entries.append(
            JournalEntry(
                time: Date(timeIntervalSince1970: now), decision: decision, app: app, detail: detail, inputs: inputs))
    }

    // MARK: - What the device and its user do

    package mutating func apply(_ moment: DeviceMoment) { self.moment = moment }

    /// The app came to the front of its user, or left it.
    package mutating func use(_ app: AppID, isInFront: Bool) {
        if isInFront { inFront.insert(app) } else { inFront.remove(app) }
    }

    /// Its user has ended the app: what waits is not for it any more.
    package mutating func forceQuit(_ app: AppID) {
        inFront.remove(app)
        guard apps[app]?.isForceQuit == false else { return }
        apps[app]?.isForceQuit = true
        marks.apps.insert(app)
    }

    /// Its user has started the app: what waits is delivered.
    package mutating func launched(_ app: AppID) {
        inFront.insert(app)
        guard apps[app]?.isForceQuit == true else { return }
        apps[app]?.isForceQuit = false
        marks.apps.insert(app)
    }

    package mutating func set(_ availability: RefreshAvailability, of app: AppID) {
        if availability == .denied { switchedOff.insert(app) } else { switchedOff.remove(app) }
    }

    package mutating func set(_ permission: NotificationPermission, of app: AppID) { permissions[app] = permission }

    // MARK: - What entries say

    /// The app's entry says this now; nil where it was removed, and with it what is known of it.
    package mutating func installed(_ app: AppID, _ manifest: AppManifest?, now: Double) {
        manifests[app] = manifest
        guard manifest == nil, let known = apps[app] else { return }
        if known.isRegistered {
            note(.pushRegistered, app, "Its entry was removed.", now)
            leave(app)
        }
        apps[app] = nil
        inFront.remove(app)
        for id in order where pushes[id]?.app == app { forget(id) }
        order.removeAll { pushes[$0] == nil }
        marks.apps.remove(app)
        marks.wakes.removeAll { $0.app == app }
        marks.alerts.removeAll { $0.app == app }
        marks.removed.insert(app)
    }

    /// The entries were read anew.
    package mutating func read(_ manifests: [AppManifest]) {
        self.manifests = Dictionary(manifests.map { ($0.id, $0) }) { $1 }
    }

    // MARK: - Registration

    /// The apps that want remote notifications.
    package var registered: [AppID] {
        apps.filter(\.value.isRegistered).keys.sorted { $0.rawValue < $1.rawValue }
    }

    /// Whether there is something to tell the gateway, or to hear from it.
    package var wantsConnection: Bool {
        device.enrolment != nil && (!registered.isEmpty || !device.leaving.isEmpty)
    }

    package mutating func register(_ app: AppID, now: Double) throws(Problem) {
        try require(app)
        guard apps[app]?.isRegistered != true else { return }
        guard registered.count < Self.appLimit else {
            throw .tooMany("\(Self.appLimit) apps have registered for remote notifications already.")
        }
        guard app.rawValue.utf8.count <= ProtocolLimits.topicLength else {
            throw .invalid("The name of an app that registers has at most \(ProtocolLimits.topicLength) bytes.")
        }
        var known = apps[app] ?? PushApp()
        known.isRegistered = true
        known.error = nil
        if device.leaving.contains(app.rawValue) {
            // Its last token was to go, and must not be the one that it gets now.
            device.leaving.removeAll { $0 == app.rawValue }
            known.wantsFreshToken = true
            marks.device = true
        }
        apps[app] = known
        marks.apps.insert(app)
        note(.pushRegistered, app, "It has registered.", now)
    }

    package mutating func unregister(_ app: AppID, now: Double) {
        guard apps[app]?.isRegistered == true else { return }
        leave(app)
        apps[app]?.isRegistered = false
        apps[app]?.token = nil
        apps[app]?.error = nil
        marks.apps.insert(app)
        told.insert(app)
        for id in order where pushes[id]?.app == app && pushes[id]?.record.state == .waiting {
            discard(id, "The app has unregistered.", now)
        }
        note(.pushRegistered, app, "It does not want remote notifications any more.", now)
    }

    private mutating func leave(_ app: AppID) { leave(app.rawValue) }

    /// Has the gateway told that nobody wants a topic any more.
    package mutating func leave(_ topic: String) {
        guard device.enrolment != nil, !device.leaving.contains(topic) else { return }
        device.leaving.append(topic)
        marks.device = true
    }

    /// The gateway has given an app its token.
    package mutating func registered(_ topic: String, token: String, now: Double) {
        let app = AppID(rawValue: topic)
        guard apps[app]?.isRegistered == true, apps[app]?.token != token || apps[app]?.error != nil else { return }
        apps[app]?.token = token
        apps[app]?.error = nil
        apps[app]?.wantsFreshToken = false
        marks.apps.insert(app)
        told.insert(app)
        note(.pushRegistered, app, "The gateway has given it a token.", now)
    }

    package mutating func unregistered(_ topic: String) {
        guard device.leaving.contains(topic) else { return }
        device.leaving.removeAll { $0 == topic }
        marks.device = true
    }

    package mutating func refused(_ topic: String, _ refusal: Refusal, now: Double) {
        // Nothing of it is there to be removed.
        unregistered(topic)
        let app = AppID(rawValue: topic)
        let error = "The gateway gives no token: \(refusal.text)"
        guard apps[app]?.isRegistered == true, apps[app]?.error != error else { return }
        apps[app]?.error = error
        marks.apps.insert(app)
        told.insert(app)
        note(.pushRegistered, app, error, now)
    }

    /// What the gateway is asked once it is connected: tokens that are missing, and topics that are gone.
    package var requests: (tokens: [(topic: String, fresh: Bool)], leaving: [String]) {
        let tokens = registered.filter { apps[$0]?.token == nil || apps[$0]?.wantsFreshToken == true }
        return (tokens.map { ($0.rawValue, apps[$0]?.wantsFreshToken ?? false) }, device.leaving)
    }

    @discardableResult
    func require(_ app: AppID) throws(Problem) -> AppManifest {
        guard let manifest = manifests[app] else {
            throw .notFound("There is no app '\(app)' with an entry. 'nightshift app list' shows them.")
        }
        return manifest
    }

    // MARK: - Enrolment

    package mutating func enrolled(_ enrolment: PushStatus.Enrolment, authority: String?, now: Double) {
        let budget = device.budget
        device = PushDevice(now: now)
        device.budget = budget
        device.enrolment = enrolment
        device.authority = authority
        marks.device = true
        forgetTokens()
        note(.pushEnrolled, nil, "At \(enrolment.host):\(enrolment.port).", now)
    }

    package mutating func left(now: Double) {
        guard let enrolment = device.enrolment else { return }
        device.enrolment = nil
        device.authority = nil
        device.leaving = []
        marks.device = true
        forgetTokens()
        note(.pushEnrolled, nil, "It has left \(enrolment.host):\(enrolment.port).", now)
    }

    /// Tokens are one gateway's.
    private mutating func forgetTokens() {
        for app in registered {
            apps[app]?.token = nil
            apps[app]?.error = nil
            apps[app]?.wantsFreshToken = false
            marks.apps.insert(app)
            told.insert(app)
        }
    }
}

/// What the connection does, for the journal.
extension PushBook {
    mutating func noteConnected(_ now: Double) {
        note(.pushConnected, nil, device.enrolment.map { "\($0.host):\($0.port)" }, now)
    }

    mutating func noteDisconnected(_ why: String, _ now: Double) { note(.pushDisconnected, nil, why, now) }
}
