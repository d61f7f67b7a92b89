import Foundation
package import NightshiftAPI
package import PushProtocol
package import Runtime
package import Store

/// The state of remote notifications: registered apps, received pushes, and the decisions about them.
///
/// A pure value: pushes, device states, requests and ends of wakes go in. ``decide(at:)`` decides, and ``takeTold()``
/// returns the apps that get a notice after the transaction. Times are seconds since 1970. See `docs/decisions/0044`.
package struct PushState: Sendable {
    package internal(set) var device: PushDevice
    package internal(set) var apps: [AppID: PushApp] = [:]
    /// The manifests of installed apps.
    package internal(set) var manifests: [AppID: AppManifest] = [:]
    package internal(set) var moment = DeviceState()
    /// The pushes by id. Finished pushes are kept for a while, so that a repeated delivery is recognised.
    package internal(set) var pushes = Rows<String, KnownPush>()
    /// The ids of all pushes in the order of arrival.
    var order: [String] = []
    /// The payloads of pushes whose apps have not been woken yet.
    var payloads: [String: Data] = [:]
    var lastNumber: Int64 = 0
    package internal(set) var inFront: Set<AppID> = []
    /// The apps for which background refresh is denied.
    var switchedOff: Set<AppID> = []
    package internal(set) var permissions: [AppID: NotificationPermission] = [:]
    /// Whether the wall clock has run long enough since it was last set. Expiration dates from senders are checked only
    /// then.
    package var trustsClock = true
    /// The time of the next decision in seconds since 1970, if no event occurs earlier.
    package internal(set) var nextDeadline: Double?
    package internal(set) var outbox = Outbox<PushOutput>()
    package internal(set) var journal = Outbox<JournalEntry>()
    /// A number that grows with each change of `device` that has to be written.
    var deviceTouched = 0
    /// The apps whose processes get a notice about their token.
    var told: Set<AppID> = []

    /// The maximum number of registered apps. The gateway accepts filters for about twice as many topics.
    package static let appLimit = 500
    /// The maximum number of finished pushes that are kept. The newest are kept at any age, because the wall clock may
    /// be wrong.
    package static let remembered = 1_000
    /// The maximum number of pushes with an alert that one app may be handling at the same time. ``mostWaiting`` is the
    /// maximum number that may wait for one app. Without these limits, a provider could fill the disk of a device whose
    /// app does not handle its pushes.
    package static let mostRunning = 32
    package static let mostWaiting = 32
    /// The number of seconds within which a wake must begin if its push has no expiration date.
    static let timeout = 900.0
    /// The number of seconds that the wall clock must run before it is trusted, after the service starts or the clock
    /// is set.
    package static let clockTimeout = 900.0
    /// The number of seconds that a notification waits for its app: 20 for the launch, and 30 for the wake.
    package static let alertTimeout = 50.0

    package init(now: Double) { device = PushDevice(now: now) }

    /// Restores the stored state. ``begin(_:ends:wanted:unreadable:now:)`` must follow.
    package init(_ kept: StoredPushes<PushApp, PushDevice, KnownPush>, now: Double) {
        device = kept.device ?? PushDevice(now: now)
        apps = kept.apps
        pushes = Rows(onDisk: Dictionary(kept.pushes.map { ($0.id, $0.record) }) { $1 })
        for push in kept.pushes {
            payloads[push.id] = push.payload
            lastNumber = max(lastNumber, push.record.number)
        }
        order = pushes.keys.sorted { (pushes[$0]?.number ?? 0, $0) < (pushes[$1]?.number ?? 0, $1) }
    }

    /// Applies the start of the service, and decides which wakes of the previous run continue.
    ///
    /// - Parameters:
    ///   - ends: all known ends of wakes.
    ///   - wanted: the ids of pushes whose wakes still have database rows.
    ///   - unreadable: the names of rows that could not be read.
    package mutating func begin(
        _ installed: [AppManifest], ends: [PushEnd], wanted: Set<String>, unreadable: [String] = [], now: Double
    ) {
        manifests = Dictionary(installed.map { ($0.id, $0) }) { $1 }
        // An earlier version set the state `shown` as soon as it had passed the alert on.
        for id in order where pushes[id]?.record.state == .shown && pushes[id]?.record.shown == nil {
            pushes[id]?.record.state = .notShown
        }
        for what in unreadable { note(.unreadable, nil, what, now) }
        take(ends, now: now)
        for app in apps.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            let running = order.filter { pushes[$0]?.app == app && pushes[$0]?.record.state == .running }
            let silent = running.filter { pushes[$0]?.record.isSilent == true }
            // The app may still be handling a silent push whose row was replaced by that of a newer push. The end of
            // the newer wake then ends this one.
            let known = silent.last.map(wanted.contains) == true ? wanted.union(silent) : wanted
            for id in running where !known.contains(id) {
                conclude(id, .failed, "The wake of the app was lost.", at: now, isDropped: true, now)
            }
        }
    }

    mutating func note(
        _ decision: Decision, _ app: AppID?, _ detail: String?, _ now: Double, inputs: [String: String]? = nil
    ) {
        journal.note(
            JournalEntry(
                time: Date(timeIntervalSince1970: now), decision: decision, app: app, detail: detail, inputs: inputs))
    }

    // MARK: - States of apps and the device

    package mutating func apply(_ moment: DeviceState) { self.moment = moment }

    /// Records that the app came to the foreground or left it.
    package mutating func use(_ app: AppID, isInFront: Bool) {
        if isInFront { inFront.insert(app) } else { inFront.remove(app) }
    }

    /// Records that the user has force-quit the app. Waiting pushes are no longer delivered to the app.
    package mutating func forceQuit(_ app: AppID) {
        inFront.remove(app)
        guard apps[app]?.isForceQuit == false else { return }
        apps[app]?.isForceQuit = true
    }

    /// Records that the user has started the app. Waiting pushes can be delivered to the app again.
    package mutating func launched(_ app: AppID) {
        inFront.insert(app)
        guard apps[app]?.isForceQuit == true else { return }
        apps[app]?.isForceQuit = false
    }

    package mutating func set(_ availability: RefreshAvailability, of app: AppID) {
        if availability == .denied { switchedOff.insert(app) } else { switchedOff.remove(app) }
    }

    package mutating func set(_ permission: NotificationPermission, of app: AppID) { permissions[app] = permission }

    // MARK: - Desktop entries

    /// Records a new or changed desktop entry of an app. Nil means that the entry was removed; the state of the app is
    /// then deleted.
    package mutating func installed(_ app: AppID, _ manifest: AppManifest?, now: Double) {
        manifests[app] = manifest
        guard manifest == nil, let known = apps[app] else { return }
        if known.isRegistered {
            note(.pushRegistered, app, "The app's desktop entry was removed.", now)
            leave(app)
        }
        apps[app] = nil
        inFront.remove(app)
        for id in order where pushes[id]?.app == app { forget(id) }
        order.removeAll { pushes[$0] == nil }
        outbox.removeAll { $0.app == app }
        outbox.append(.remove(app))
    }

    /// Applies the desktop entries after they were read again.
    package mutating func read(_ manifests: [AppManifest]) {
        self.manifests = Dictionary(manifests.map { ($0.id, $0) }) { $1 }
    }

    // MARK: - Registration

    /// The apps that have registered for remote notifications.
    package var registered: [AppID] {
        apps.filter(\.value.isRegistered).keys.sorted { $0.rawValue < $1.rawValue }
    }

    /// Whether a connection to the gateway is needed.
    package var wantsConnection: Bool {
        device.enrolment != nil && (!registered.isEmpty || !device.leaving.isEmpty)
    }

    package mutating func register(_ app: AppID, now: Double) throws(Problem) {
        try require(app)
        guard apps[app]?.isRegistered != true else { return }
        guard registered.count < Self.appLimit else {
            throw .tooMany("\(Self.appLimit) apps have registered for remote notifications, which is the limit.")
        }
        guard app.rawValue.utf8.count <= ProtocolLimits.topicLength else {
            throw .invalid("To register, an app's id may have at most \(ProtocolLimits.topicLength) bytes.")
        }
        var known = apps[app] ?? PushApp()
        known.isRegistered = true
        known.error = nil
        if device.leaving.contains(app.rawValue) {
            // The gateway is about to end the last token, so the app must get another one.
            device.leaving.removeAll { $0 == app.rawValue }
            known.wantsFreshToken = true
            deviceTouched += 1
        }
        apps[app] = known
        note(.pushRegistered, app, "The app has registered.", now)
    }

    package mutating func unregister(_ app: AppID, now: Double) {
        guard apps[app]?.isRegistered == true else { return }
        leave(app)
        apps[app]?.isRegistered = false
        apps[app]?.token = nil
        apps[app]?.error = nil
        told.insert(app)
        for id in order where pushes[id]?.app == app && pushes[id]?.record.state == .waiting {
            discard(id, "The app has unregistered.", now)
        }
        note(.pushRegistered, app, "The app has unregistered.", now)
    }

    private mutating func leave(_ app: AppID) { leave(app.rawValue) }

    /// Marks a topic as no longer wanted, for the gateway.
    package mutating func leave(_ topic: String) {
        guard device.enrolment != nil, !device.leaving.contains(topic) else { return }
        device.leaving.append(topic)
        deviceTouched += 1
    }

    /// Records the token that the gateway has issued for an app.
    package mutating func registered(_ topic: String, token: String, now: Double) {
        let app = AppID(rawValue: topic)
        guard apps[app]?.isRegistered == true, apps[app]?.token != token || apps[app]?.error != nil else { return }
        apps[app]?.token = token
        apps[app]?.error = nil
        apps[app]?.wantsFreshToken = false
        told.insert(app)
        note(.pushRegistered, app, "The gateway has issued the app's device token.", now)
    }

    package mutating func unregistered(_ topic: String) {
        guard device.leaving.contains(topic) else { return }
        device.leaving.removeAll { $0 == topic }
        deviceTouched += 1
    }

    package mutating func refused(_ topic: String, _ refusal: Refusal, now: Double) {
        // The gateway does not have such a topic to remove.
        unregistered(topic)
        let app = AppID(rawValue: topic)
        let error = "The gateway refused a token: \(refusal.text)"
        guard apps[app]?.isRegistered == true, apps[app]?.error != error else { return }
        apps[app]?.error = error
        told.insert(app)
        note(.pushRegistered, app, error, now)
    }

    /// The requests to send when the gateway is connected: for missing tokens, and to remove topics that are no longer
    /// wanted.
    package var requests: (tokens: [(topic: String, fresh: Bool)], leaving: [String]) {
        let tokens = registered.filter { apps[$0]?.token == nil || apps[$0]?.wantsFreshToken == true }
        return (tokens.map { ($0.rawValue, apps[$0]?.wantsFreshToken ?? false) }, device.leaving)
    }

    @discardableResult
    func require(_ app: AppID) throws(Problem) -> AppManifest {
        guard let manifest = manifests[app] else {
            throw .notFound("There is no app '\(app)' with a desktop entry. 'nightshift app list' shows the apps.")
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
        deviceTouched += 1
        forgetTokens()
        note(.pushEnrolled, nil, "At \(enrolment.host):\(enrolment.port).", now)
    }

    package mutating func left(now: Double) {
        guard let enrolment = device.enrolment else { return }
        device.enrolment = nil
        device.authority = nil
        device.leaving = []
        deviceTouched += 1
        forgetTokens()
        note(.pushEnrolled, nil, "The enrolment ended at \(enrolment.host):\(enrolment.port).", now)
    }

    /// Deletes all tokens, because they are valid at one gateway only.
    private mutating func forgetTokens() {
        for app in registered {
            apps[app]?.token = nil
            apps[app]?.error = nil
            apps[app]?.wantsFreshToken = false
            told.insert(app)
        }
    }
}

/// Journal entries about the connection to the gateway.
extension PushState {
    mutating func noteConnected(_ now: Double) {
        note(.pushConnected, nil, device.enrolment.map { "\($0.host):\($0.port)" }, now)
    }

    mutating func noteDisconnected(_ why: String, _ now: Double) { note(.pushDisconnected, nil, why, now) }
}
