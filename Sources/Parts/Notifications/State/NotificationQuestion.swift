import Device
package import NightshiftAPI
import Store

/// A question to the user about an app. It is shown as a notification whose actions are the answers.
package struct NotificationQuestion: Hashable, Sendable {
    package var app: AppID
    /// The purpose of the question. Per app and purpose, only one question is shown at a time.
    package var purpose: String
    package var title: String
    package var body: String
    package var choices: [Choice]
    var phase = Phase.waiting

    package struct Choice: Hashable, Sendable {
        package var key: String
        package var title: String

        package init(key: String, title: String) {
            self.key = key
            self.title = title
        }
    }

    enum Phase: Hashable, Sendable {
        /// The question waits for a server that supports actions.
        case waiting
        case showing(Int64)
        case shown(StoredNotification.Place)
        /// The server has refused the question. It waits for another server.
        case stuck
    }

    package init(app: AppID, purpose: String, title: String, body: String, choices: [Choice]) {
        self.app = app
        self.purpose = purpose
        self.title = title
        self.body = body
        self.choices = choices
    }

    func draft(name: String, icon: String?, for server: NotificationServer) -> DesktopNotification {
        let text = NotificationText.body(body)
        var draft = DesktopNotification(
            appName: NotificationText.line(name), entry: app.rawValue, title: NotificationText.line(title),
            body: server.readsMarkup ? NotificationText.escaped(text) : text)
        draft.icon = icon.map(NotificationText.line) ?? ""
        draft.actions = choices.enumerated().map {
            DesktopNotification.Action(key: "choice-\($0.offset)", title: NotificationText.line($0.element.title))
        }
        draft.stays = true
        return draft
    }

    func choice(_ key: String) -> String? {
        choices.enumerated().first { "choice-\($0.offset)" == key }?.element.key
    }
}

/// The handling of questions to the user. Each question remains until it is answered, even if the notification server
/// changes.
extension NotificationState {
    /// Adds a question, unless the app already has a question with this purpose.
    ///
    /// - Returns: the number of the question, which ``NotificationEffect/answer(question:_:)`` contains.
    package mutating func ask(_ question: NotificationQuestion) -> Int64 {
        let known = questions.first { $0.value.app == question.app && $0.value.purpose == question.purpose }
        if let known { return known.key }
        let number = newToken()
        questions[number] = question
        if server == nil { effects.append(.startServer) }
        return number
    }

    /// Removes a question that no longer needs an answer.
    package mutating func withdraw(_ purpose: String, of app: AppID) {
        for (number, question) in questions where question.app == app && question.purpose == purpose {
            answer(number, nil)
        }
    }

    /// Closes all questions, because their callers end with the service.
    package mutating func withdrawAll() {
        for number in questions.keys.sorted() { answer(number, nil) }
    }

    mutating func answer(_ number: Int64, _ key: String?) {
        guard let question = questions.removeValue(forKey: number) else { return }
        if key == nil, case .shown(let place) = question.phase { close(place) }
        effects.append(.answer(question: number, key))
    }

    mutating func lookAtQuestions() {
        guard let server, server.hasActions else { return }
        for number in questions.keys.sorted() where questions[number]?.phase == .waiting {
            guard let app = questions[number]?.app else { continue }
            let token = newToken()
            questions[number]?.phase = .showing(token)
            effects.append(.show(token: token, app))
        }
    }
}
