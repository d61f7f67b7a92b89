package import Foundation
package import NightshiftAPI
package import PushProtocol
import Runtime
import Store

/// The handling of pushes, from their arrival to their result.
extension PushState {
    // MARK: - Arrival

    /// Handles a push from the gateway.
    ///
    /// - Returns: whether the push is new. A repeated push is ignored.
    @discardableResult
    package mutating func received(_ message: Message, now: Double) -> Bool {
        guard let id = newID(message) else { return false }
        let app = AppID(rawValue: message.topic)
        let payload = PushPayload(message.payload)
        lastNumber += 1
        let record = PushRecord(
            id: id, received: Date(timeIntervalSince1970: now), priority: Int(message.priority.rawValue),
            isSilent: payload?.isSilent ?? false, hasAlert: payload?.hasAlert ?? false)
        pushes[id] = KnownPush(
            record: record, app: app, number: lastNumber, expires: message.expiry.map(Double.init),
            identifier: message.collapseID ?? id, isUrgent: message.priority == .immediate)
        order.append(id)
        let way = message.isFromStorage ? "from the gateway's storage" : "directly"
        note(.pushReceived, app, "\(id) arrived \(way).", now, inputs: ["priority": "\(message.priority.rawValue)"])
        prune()
        guard apps[app]?.isRegistered == true else {
            discard(id, "The app has not registered for remote notifications.", now)
            return true
        }
        guard let payload else {
            discard(id, "Its payload is not a JSON object.", now)
            return true
        }
        if pushes[id].map({ hasExpired($0, now) }) == true, trustsClock {
            discard(id, "It expired before it arrived.", now)
            return true
        }
        guard payload.wakesApp else {
            show(id, payload, nil, now)
            return true
        }
        payloads[id] = Data(message.payload)
        deliver(id, payload, now)
        return true
    }

    /// Returns the id for a new push; nil for a repeated one. Providers choose ids. If a push of another app has the
    /// same id, the topic is appended.
    private func newID(_ message: Message) -> String? {
        let plain = message.id.description
        let own = "\(plain)@\(message.topic)"
        guard let other = pushes[plain] else { return pushes[own] == nil ? plain : nil }
        return other.app.rawValue == message.topic || pushes[own] != nil ? nil : own
    }

    /// Handles a push with `content-available`: wakes the app, or makes the push wait.
    private mutating func deliver(_ id: String, _ payload: PushPayload, _ now: Double) {
        guard let push = pushes[id] else { return }
        let hold = hold(push, now) ?? (isBusy(push, with: running(push.app)) ? .busy : nil)
        if hold == nil {
            makeRoom(for: id, now)
            return begin(id, waitingAlert: payload.hasAlert ? notification(of: push, payload) : nil, now)
        }
        guard let hold, hold.waits, push.expires != nil else {
            payloads[id] = nil
            let once = hold?.waits == true ? " It has no expiration date, so it does not wait." : ""
            return show(id, payload, (hold?.sentence ?? "") + once, now)
        }
        // The alert is shown now, so that the user sees it before the app is woken.
        if payload.hasAlert { show(notification(of: push, payload), of: id, now) }
        makeRoom(for: id, now)
        wait(id, hold, now)
        note(.pushHeld, push.app, "\(id): \(hold.sentence)", now)
    }

    private mutating func wait(_ id: String, _ hold: PushHold, _ now: Double) {
        pushes[id]?.record.state = .waiting
        var sentence = hold.sentence
        if hold == .budget {
            let time = Date(timeIntervalSince1970: device.budget.next).formatted(.iso8601)
            sentence += " The next one is possible at \(time)."
        }
        guard pushes[id]?.record.sentence != sentence else { return }
        pushes[id]?.record.sentence = sentence
    }

    /// Shows the alert of a push without waking its app. `why` is the reason for not waking it.
    private mutating func show(_ id: String, _ payload: PushPayload, _ why: String?, _ now: Double) {
        guard let push = pushes[id] else { return }
        guard payload.hasAlert else {
            return discard(id, why ?? "It has neither an alert nor content-available, so it has no effect.", now)
        }
        show(notification(of: push, payload), of: id, now)
        pushes[id]?.record.state = .notShown
        pushes[id]?.record.sentence = why ?? "It has only an alert, so the app is not woken."
        guard let why else { return }
        note(.pushDiscarded, push.app, "\(id): its alert is shown, but the app does not receive the push. \(why)", now)
    }

    private func notification(of push: KnownPush, _ payload: PushPayload) -> AppNotification {
        payload.notification(identifier: push.identifier, date: push.record.received)
    }

    /// Shows the alert of a push, which replaces older alerts with the same identifier.
    private mutating func show(_ notification: AppNotification, of id: String, _ now: Double) {
        guard let push = pushes[id] else { return }
        replaceAlerts(olderThan: push) { _ in true }
        outbox.append(.alert(PushAlert(app: push.app, notification: notification, due: now)))
    }

    /// Marks the alerts of older pushes with the same identifier as replaced, unless their state is final.
    private mutating func replaceAlerts(olderThan push: KnownPush, where isMeant: (KnownPush) -> Bool) {
        for id in order {
            guard let older = pushes[id], older.number < push.number, older.hasAlert(push.identifier, of: push.app),
                older.record.shown == nil, older.record.alert?.isFinal != true, isMeant(older)
            else { continue }
            pushes[id]?.record.alert = .replaced
            pushes[id]?.waitingAlert = nil
        }
    }

    // MARK: - Waking

    private func hasExpired(_ push: KnownPush, _ now: Double) -> Bool { push.expires.map { $0 <= now } ?? false }

    /// Returns whether a waiting push has expired according to a clock that is not trusted yet.
    package func isInDoubt(_ now: Double) -> Bool {
        !trustsClock && pushes.values.contains { $0.record.state == .waiting && hasExpired($0, now) }
    }

    /// Returns the reason why the app is not woken for the push now; nil if the app is woken.
    package func hold(_ push: KnownPush, _ now: Double) -> PushHold? {
        let app = push.app
        guard let manifest = manifests[app] else { return .notInstalled }
        guard manifest.modes.contains(.remoteNotification) else { return .notDeclared }
        if apps[app]?.isForceQuit == true { return .forceQuit }
        if !trustsClock, hasExpired(push, now) { return .clock }
        // An app in the foreground receives pushes regardless of the device conditions.
        if inFront.contains(app) { return nil }
        if switchedOff.contains(app) { return .switchedOff }
        let conditions = moment.conditions
        if conditions.isSleeping { return .machineSleeps }
        let isOnBattery = conditions.power == .battery
        if isOnBattery, conditions.batteryWarning == .critical || conditions.batteryWarning == .action {
            return .batteryLow
        }
        if conditions.isLowPower { return .lowPower }
        // Waking an app for an urgent push opens a maintenance window.
        if moment.phase == .dozing, !push.isUrgent { return .dozing }
        if isOnBattery, push.record.isSilent {
            var budget = device.budget
            budget.fill(to: now)
            if budget.isEmpty { return .budget }
        }
        return nil
    }

    /// Returns the number of pushes with an alert that an app is handling.
    private func running(_ app: AppID) -> Int {
        pushes.values.count { $0.app == app && !$0.record.isSilent && $0.record.state == .running }
    }

    /// Returns whether the push must wait, because the app is handling the maximum number of pushes with an alert.
    private func isBusy(_ push: KnownPush, with running: Int) -> Bool {
        !push.record.isSilent && running >= Self.mostRunning
    }

    private mutating func begin(_ id: String, waitingAlert: AppNotification?, _ now: Double) {
        guard let push = pushes[id], let payload = payloads.removeValue(forKey: id) else { return }
        if moment.conditions.power == .battery, push.record.isSilent, !inFront.contains(push.app) {
            device.budget.fill(to: now)
            device.budget.take()
            deviceTouched += 1
        }
        pushes[id]?.record.state = .running
        pushes[id]?.record.woken = Date(timeIntervalSince1970: now)
        pushes[id]?.record.sentence = "The app is woken for it."
        if let waitingAlert {
            pushes[id]?.record.sentence += " Its alert is shown when the app is done."
            replaceAlerts(olderThan: push) { $0.waitingAlert != nil }
            pushes[id]?.waitingAlert = WaitingAlert(notification: waitingAlert, deadline: now + Self.alertTimeout)
        }
        outbox.append(
            .wake(
                PushWake(
                    id: id, app: push.app, key: push.record.isSilent ? "" : id,
                    delivery: PushDelivery(
                        id: id, payload: String(decoding: payload, as: UTF8.self), received: push.record.received),
                    timeout: push.expires.map { max(0, $0 - now) } ?? Self.timeout)))
    }

    /// Discards waiting pushes of an app to make room for a new one. Only the newest silent push of the app waits, and
    /// a limited number of its pushes with an alert.
    private mutating func makeRoom(for id: String, _ now: Double) {
        guard let push = pushes[id] else { return }
        let waiting = order.filter { older in
            guard older != id, let other = pushes[older] else { return false }
            return other.app == push.app && other.record.state == .waiting
                && other.record.isSilent == push.record.isSilent
        }
        if push.record.isSilent {
            for older in waiting { discard(older, "A newer silent push replaced it while it waited.", now) }
        } else {
            for older in waiting.dropLast(Self.mostWaiting - 1) {
                discard(older, "\(Self.mostWaiting) newer pushes were waiting for the app.", now)
            }
        }
    }

    // MARK: - Ends

    /// Handles the ends of wakes. Each end has an effect only once.
    package mutating func take(_ ends: [PushEnd], now: Double) {
        for end in ends where !outbox.rows.contains(.endTaken(end.row.id)) {
            outbox.append(.endTaken(end.row.id))
            // A push is unknown if its app was removed in the meantime.
            guard let id = end.push, let push = pushes[id] else { continue }
            if push.record.isSilent { discardReplaced(by: push, now) }
            guard push.record.state == .running else { continue }
            let (result, detail) = (end.row.end.result, end.row.end.detail)
            let isDropped = result == .failed && detail != nil && apps[push.app]?.isForceQuit == true
            conclude(id, result, detail, at: end.row.end.time, isDropped: isDropped, now)
        }
    }

    /// Discards silent pushes whose wake was replaced by a newer push before the app received it.
    private mutating func discardReplaced(by push: KnownPush, _ now: Double) {
        for id in order {
            guard let older = pushes[id], older.app == push.app, older.record.isSilent,
                older.record.state == .running, older.number < push.number
            else { continue }
            discard(id, "A newer silent push replaced it before the app was woken.", now)
        }
    }

    mutating func conclude(
        _ id: String, _ result: RefreshResult?, _ detail: String?, at time: Double, isDropped: Bool, _ now: Double
    ) {
        guard let push = pushes[id] else { return }
        showWaitingAlert(of: id, now)
        if isDropped { return discard(id, detail ?? "The wake of the app for this push was cancelled.", now) }
        pushes[id]?.record.state = .handled
        pushes[id]?.record.result = result
        let woken = push.record.woken ?? push.record.received
        pushes[id]?.record.ended = max(woken, Date(timeIntervalSince1970: time))
        let sentence =
            switch result {
            case .newData: "The app has fetched new data."
            case .noData: "The app has found no new data."
            case .failed: ["The app has failed to handle it.", detail].compactMap(\.self).joined(separator: " ")
            case nil: ["The result is unknown.", detail].compactMap(\.self).joined(separator: " ")
            }
        pushes[id]?.record.sentence = sentence
        note(.pushHandled, push.app, "\(id): \(sentence)", now, inputs: result.map { ["result": $0.rawValue] })
    }

    /// Shows the alert of a push that waits for its app.
    mutating func showWaitingAlert(of id: String, _ now: Double) {
        guard let alert = pushes[id]?.waitingAlert else { return }
        pushes[id]?.waitingAlert = nil
        show(alert.notification, of: id, now)
    }

    /// Records the state of a notification that may be the alert of a push.
    package mutating func alert(_ identifier: String, of app: AppID, became state: AlertState, at date: Date) {
        let id = order.last { pushes[$0]?.hasAlert(identifier, of: app) == true && pushes[$0]?.waitingAlert == nil }
        guard let id, let record = pushes[id]?.record, record.shown == nil, record.alert?.isFinal != true,
            record.alert != state
        else { return }
        pushes[id]?.record.alert = state
        guard state == .shown else { return }
        pushes[id]?.record.shown = date
        if record.state == .notShown { pushes[id]?.record.state = .shown }
    }

    mutating func discard(_ id: String, _ why: String, _ now: Double) {
        guard let push = pushes[id] else { return }
        payloads[id] = nil
        pushes[id]?.record.state = .discarded
        pushes[id]?.record.sentence = why
        note(.pushDiscarded, push.app, "\(id): \(why)", now)
    }

    /// Deletes finished pushes except for the newest.
    private mutating func prune() {
        let done = order.filter { pushes[$0]?.isDone == true }
        let gone = Set(done.prefix(max(0, done.count - Self.remembered)))
        guard !gone.isEmpty else { return }
        for id in gone { forget(id) }
        order.removeAll(where: gone.contains)
    }

    mutating func forget(_ id: String) {
        pushes[id] = nil
        payloads[id] = nil
    }

    // MARK: - Deciding

    /// Decides which pushes wake their apps now, and which are discarded.
    package mutating func decide(at now: Double) {
        device.budget.fill(to: now)
        var next: [Double] = []
        var running: [AppID: Int] = [:]
        for push in pushes.values where push.record.state == .running && !push.record.isSilent {
            running[push.app, default: 0] += 1
        }
        for id in order {
            guard let push = pushes[id] else { continue }
            if let deadline = push.waitingAlert?.deadline {
                // The second condition applies after the clock was set back. Without it, the alert would wait too long.
                if deadline <= now || deadline > now + Self.alertTimeout {
                    showWaitingAlert(of: id, now)
                } else {
                    next.append(deadline)
                }
            }
            guard push.record.state == .waiting else { continue }
            if trustsClock, hasExpired(push, now) {
                discard(id, "It expired while it waited. \(push.record.sentence)", now)
                continue
            }
            let isBusy = isBusy(push, with: running[push.app] ?? 0)
            guard let hold = hold(push, now) ?? (isBusy ? .busy : nil) else {
                if !push.record.isSilent { running[push.app, default: 0] += 1 }
                begin(id, waitingAlert: nil, now)
                continue
            }
            guard hold.waits else {
                discard(id, hold.sentence, now)
                continue
            }
            wait(id, hold, now)
            next += [push.expires.flatMap { $0 > now ? $0 : nil }, hold == .budget ? device.budget.next : nil]
                .compactMap(\.self)
        }
        nextDeadline = next.min()
    }
}
