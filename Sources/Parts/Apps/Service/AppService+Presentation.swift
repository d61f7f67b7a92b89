import Clock
import Foundation
import Logging
package import NightshiftAPI

/// Requests to apps in the foreground that ask how to present a notification.
extension AppService {
    /// A pending question to an app in the foreground: how to present a notification.
    struct Presentation {
        /// The deadline of the answer, in awake seconds.
        var deadline: Double
        var answer: PresentationAnswer?
        var waiter: CheckedContinuation<PresentationAnswer, Never>?

        struct Key: Hashable, Sendable {
            var app: AppID
            /// The number of the command that asks the app.
            var command: Int64
        }
    }

    /// Asks an app in the foreground how to present a notification. Returns when the app has answered or its time to
    /// answer is over.
    package func present(_ id: AppID, _ notification: AppNotification) async -> PresentationAnswer {
        guard isInFront(id) else { return .notInFront }
        guard !isStopping, connection(of: id) != nil else { return .asSent }
        let payload: Data
        do {
            payload = Data(try JSON.encode(notification))
        } catch {
            environment.logger.error("A notification cannot be written", metadata: ["error": "\(error)"])
            return .asSent
        }
        var asked: Presentation.Key?
        await perform(id) { machine, now in
            guard let command = machine.present(notification.identifier, payload) else { return [] }
            let key = Presentation.Key(app: id, command: command.number)
            // The question is recorded before the command is sent, because the answer may arrive while the step is
            // being written.
            presentations[key] = Presentation(deadline: now.awakeSeconds + AppMachine.presentationLimit)
            asked = key
            return [.send(command)]
        }
        guard let asked, let presentation = presentations[asked] else { return .asSent }
        if let answer = presentation.answer {
            presentations[asked] = nil
            return answer
        }
        return await withCheckedContinuation { presentations[asked]?.waiter = $0 }
    }

    /// Whether the app is in the foreground, according to its states or its windows.
    private func isInFront(_ id: AppID) -> Bool { machines[id]?.record.isInFront == true || front.use.app == id }

    /// Ends a question with the app's answer or with a default answer.
    ///
    /// - Returns: whether the question existed and had no answer yet.
    @discardableResult
    func endPresentation(_ key: Presentation.Key, _ answer: PresentationAnswer) -> Bool {
        guard let presentation = presentations[key], presentation.answer == nil else { return false }
        if let waiter = presentation.waiter {
            presentations[key] = nil
            waiter.resume(returning: answer)
        } else {
            presentations[key]?.answer = answer
        }
        return true
    }

    /// Ends the questions to an app whose process is gone.
    func endPresentations(of id: AppID) {
        for key in presentations.keys where key.app == id { endPresentation(key, .asSent) }
    }

    /// The deadlines of the unanswered questions, in awake seconds.
    var presentationDeadlines: [Double] { presentations.values.filter { $0.answer == nil }.map(\.deadline) }

    /// Ends questions whose deadline is over.
    func endLatePresentations() {
        let time = now.awakeSeconds
        for (key, presentation) in presentations where presentation.deadline <= time { endPresentation(key, .asSent) }
    }
}
