import Clock
import Foundation
import Logging
package import NightshiftAPI

/// Notifications that are about to be shown while their app is in front.
extension AppService {
    /// A notification that an app in front was asked about.
    struct Presentation {
        /// In awake seconds.
        var deadline: Double
        var answer: PresentationAnswer?
        var waiter: CheckedContinuation<PresentationAnswer, Never>?

        struct Key: Hashable, Sendable {
            var app: AppID
            /// The number of the command that asks.
            var command: Int64
        }
    }

    /// Asks an app that is in front what of a notification is shown. Takes as long as the app has for its answer, at most.
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
            // Before it is sent: the answer may come while the step is written down.
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

    /// Whether its user has the app in front, by its states or by its windows.
    private func isInFront(_ id: AppID) -> Bool { machines[id]?.record.isInFront == true || front.use.app == id }

    /// An app has answered, or will not.
    ///
    /// - Returns: whether it was asked, and had not answered yet.
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

    /// Nobody is there any more who could answer.
    func endPresentations(of id: AppID) {
        for key in presentations.keys where key.app == id { endPresentation(key, .asSent) }
    }

    /// Awake seconds until which apps are waited for.
    var presentationDeadlines: [Double] { presentations.values.filter { $0.answer == nil }.map(\.deadline) }

    /// Apps that take longer are not waited for.
    func endLatePresentations() {
        let time = now.awakeSeconds
        for (key, presentation) in presentations where presentation.deadline <= time { endPresentation(key, .asSent) }
    }
}
