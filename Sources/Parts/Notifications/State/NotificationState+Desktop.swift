package import Device
import Foundation
import NightshiftAPI
import Runtime
import Store

/// The handling of events from the session bus.
extension NotificationState {
    package mutating func apply(_ event: DesktopEvent, now: Double) {
        switch event {
        case .connected:
            tellBadges()
            // The bus has only now become available, and can start a notification server.
            let isWanted = !questions.isEmpty || items.contains { $0.stored.state == .due }
            if isWanted { effects.append(.startServer) }
        case .dock: tellBadges()
        case .server(let found): serverIs(found)
        case .shown(let token, let number): shown(token, number, now)
        case .refused(let token, let isGone, _): refused(token, isGone: isGone, now)
        case .chosen(let server, let number, let key):
            chosen(StoredNotification.Place(server: server, number: number), key, now)
        case .closed(let server, let number, let reason):
            closed(StoredNotification.Place(server: server, number: number), reason, now)
        }
    }

    private mutating func tellBadges() {
        for (app, record) in apps.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where record.badge > 0 {
            effects.append(.badge(app, record.badge))
        }
    }

    private mutating func serverIs(_ found: NotificationServer?) {
        server = found
        for index in items.indices {
            switch items[index].phase {
            // The old server will not answer for these notifications.
            case .showing(_, let presentation), .stuck(let presentation):
                items[index].phase = .decided(presentation)
            case .waiting, .presenting, .decided: continue
            }
        }
        for number in questions.keys { questions[number]?.phase = .waiting }
    }

    private mutating func shown(_ token: Int64, _ number: UInt32, _ now: Double) {
        guard let server else { return }
        let place = StoredNotification.Place(server: server.identity, number: number)
        if let index = showing(token) {
            becameListed(at: index, .shown, place: place, now)
        } else if let question = questions.first(where: { $0.value.phase == .showing(token) })?.key {
            questions[question]?.phase = .shown(place)
        } else if !isShown(place) {
            // The notification was removed or replaced while the server was showing it.
            close(place)
        }
    }

    private mutating func refused(_ token: Int64, isGone: Bool, _ now: Double) {
        if let index = showing(token), case .showing(_, let presentation) = items[index].phase {
            if isGone {
                items[index].phase = .stuck(presentation)
            } else {
                // The server would refuse another attempt as well.
                becameListed(at: index, .refused, now)
            }
        } else if let question = questions.first(where: { $0.value.phase == .showing(token) })?.key {
            questions[question]?.phase = .stuck
        }
    }

    private mutating func chosen(_ place: StoredNotification.Place, _ key: String, _ now: Double) {
        if let question = questions.first(where: { $0.value.phase == .shown(place) }) {
            guard let choice = question.value.choice(key) else { return }
            answer(question.key, choice)
            return
        }
        guard let index = items.firstIndex(where: { $0.stored.place == place }) else { return }
        let stored = items[index].stored
        guard let choice = stored.notification.choice(key) else { return }
        items.remove(at: index)
        respond(stored, choice.action, now)
        if choice.isForeground { effects.append(.activate(stored.app)) }
    }

    private mutating func closed(
        _ place: StoredNotification.Place, _ reason: DesktopEvent.CloseReason, _ now: Double
    ) {
        if let question = questions.first(where: { $0.value.phase == .shown(place) })?.key {
            answer(question, nil)
            return
        }
        guard let index = items.firstIndex(where: { $0.stored.place == place }) else { return }
        let stored = items[index].stored
        switch reason {
        case .dismissed:
            items.remove(at: index)
            guard category(of: stored.notification, stored.app)?.tellsOfDismissal == true else { return }
            respond(stored, NotificationResponse.dismissed, now)
        case .expired, .other:
            // The notification stays in the app's list. Its place is cleared, because the server may reuse the number.
            items[index].stored.place = nil
        }
    }

    private mutating func respond(_ stored: StoredNotification, _ action: String, _ now: Double) {
        outbox.append(.respond(NotificationResponse(notification: stored.notification, action: action), stored.app))
        let word =
            switch action {
            case NotificationResponse.opened: "opened"
            case NotificationResponse.dismissed: "dismissed"
            default: "action \(action)"
            }
        note(.notificationChosen, stored.app, "\(stored.notification.identifier): \(word)", now)
    }

    private func isShown(_ place: StoredNotification.Place) -> Bool {
        items.contains { $0.stored.place == place } || questions.values.contains { $0.phase == .shown(place) }
    }
}
