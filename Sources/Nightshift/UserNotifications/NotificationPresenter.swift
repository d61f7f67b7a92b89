import Dispatch
import Foundation
import NightshiftAPI
import Synchronization

/// Calls the delegate of the notification center, on the main thread.
final class NotificationPresenter: Sendable {
    private let state = Mutex(State())

    typealias Receiver = @Sendable () -> (any CommandReceiver)?
    typealias Completion = @Sendable (RefreshResult) -> Void

    private struct State {
        weak var connection: ServiceConnection?
        weak var center: UNUserNotificationCenter?
        var delegate = Delegate()
        var isLaunched = false
        /// Responses that came before there was a delegate, or the app's launch had ended.
        var held: [(response: NotificationResponse, receiver: Receiver, completion: Completion)] = []
    }

    // Unchecked: set by the app on whatever thread, and called on the main thread only, as at Apple's.
    private struct Delegate: @unchecked Sendable {
        weak var value: (any UNUserNotificationCenterDelegate)?
    }

    func connect(to connection: ServiceConnection) {
        state.withLock { $0.connection = connection }
    }

    func setCenter(_ center: UNUserNotificationCenter) {
        state.withLock { $0.center = center }
    }

    // MARK: - The delegate

    var delegate: (any UNUserNotificationCenterDelegate)? { state.withLock(\.delegate).value }

    func setDelegate(_ delegate: (any UNUserNotificationCenterDelegate)?) {
        let box = Delegate(value: delegate)
        state.withLock { $0.delegate = box }
        if delegate != nil { releaseHeld() }
    }

    /// The app's launch has ended: a delegate that is not there now is not waited for.
    func launchEnded() {
        state.withLock { $0.isLaunched = true }
        releaseHeld()
    }

    private func releaseHeld() {
        let held = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        guard !held.isEmpty else { return }
        // Behind whatever the app does now, such as finishing its launch.
        DispatchQueue.main.async { [self] in
            for entry in held { receive(entry.response, for: entry.receiver, completion: entry.completion) }
        }
    }

    /// The delegate and the center that it is called with; on the main thread.
    private var addressee: (delegate: any UNUserNotificationCenterDelegate, center: UNUserNotificationCenter)? {
        let (box, center, connection) = state.withLock { ($0.delegate, $0.center, $0.connection) }
        guard let delegate = box.value, let connection else { return nil }
        return (delegate, center ?? UNUserNotificationCenter(connection: connection))
    }

    // MARK: - What comes

    /// Asks what of a notification is shown while the app is in front.
    ///
    /// - Parameters:
    ///   - payload: the notification.
    ///   - answer: called once, with the options; with nil where there is no delegate.
    func present(_ payload: Data?, answer: @escaping @Sendable (Int?) -> Void) {
        guard let notification = payload.flatMap({ try? JSON.decode(AppNotification.self, from: $0) }) else {
            return answer(nil)
        }
        let once = Once()
        DispatchQueue.main.async { [self] in
            guard let (delegate, center) = addressee else { return answer(nil) }
            delegate.userNotificationCenter(center, willPresent: UNNotification(notification)) { options in
                // The service refuses what it does not know.
                if once.isFirst { answer(Int(clamping: options.intersection(.all).rawValue)) }
            }
        }
    }

    /// Hands over what the app's user has done with a notification; on the main thread.
    ///
    /// - Parameters:
    ///   - receiver: the app, once it runs as an ``Application``, which hears of an opened remote notification where
    ///     there is no delegate.
    ///   - completion: called when the app has done what is to be done; more than once, where its delegate does so.
    func receive(
        _ response: NotificationResponse, for receiver: @escaping Receiver, completion: @escaping Completion
    ) {
        if let (delegate, center) = addressee {
            delegate.userNotificationCenter(center, didReceive: UNNotificationResponse(response)) {
                completion(.newData)
            }
            return
        }
        let isHeld = state.withLock { state in
            if !state.isLaunched { state.held.append((response, receiver, completion)) }
            return !state.isLaunched
        }
        if isHeld { return }
        guard let receiver = receiver(), response.notification.isRemote,
            response.action == NotificationResponse.opened
        else { return completion(.noData) }
        let notification = response.notification
        receiver.receive(
            PushDelivery(id: notification.identifier, payload: notification.userInfo, received: notification.date),
            completion: completion)
    }
}

/// Says yes once.
private final class Once: Sendable {
    private let isUsed = Mutex(false)

    var isFirst: Bool {
        isUsed.withLock { isUsed in
            defer { isUsed = true }
            return !isUsed
        }
    }
}
