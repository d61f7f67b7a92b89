import Dispatch
import Foundation
import NightshiftAPI
import Synchronization

/// An object that calls the delegate of the notification center, on the main thread.
final class NotificationPresenter: Sendable {
    private let state = Mutex(State())

    typealias Receiver = @Sendable () -> (any CommandReceiver)?
    typealias Completion = @Sendable (RefreshResult) -> Void

    private struct State {
        weak var connection: ServiceConnection?
        weak var center: UNUserNotificationCenter?
        var delegate = Delegate()
        var isLaunched = false
        /// The responses that arrived before a delegate was set and before the app's launch had ended.
        var held: [(response: NotificationResponse, receiver: Receiver, completion: Completion)] = []
    }

    // This type is unchecked because the app sets the delegate on any thread. As on Apple's systems, the delegate is
    // called only on the main thread.
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

    /// Handles the end of the app's launch. Later responses do not wait for a delegate.
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
        // This block runs after the app's current work on the main thread, such as finishing its launch.
        DispatchQueue.main.async { [self] in
            for entry in held { receive(entry.response, for: entry.receiver, completion: entry.completion) }
        }
    }

    /// The delegate, and the center that is passed to it. Must be read on the main thread.
    private var addressee: (delegate: any UNUserNotificationCenterDelegate, center: UNUserNotificationCenter)? {
        let (box, center, connection) = state.withLock { ($0.delegate, $0.center, $0.connection) }
        guard let delegate = box.value, let connection else { return nil }
        return (delegate, center ?? UNUserNotificationCenter(connection: connection))
    }

    // MARK: - Presenting and receiving

    /// Asks the delegate how to present a notification while the app is in the foreground.
    ///
    /// - Parameters:
    ///   - payload: The encoded notification.
    ///   - answer: A closure that is called once, with the presentation options, or with nil if there is no delegate.
    func present(_ payload: Data?, answer: @escaping @Sendable (Int?) -> Void) {
        guard let notification = payload.flatMap({ try? JSON.decode(AppNotification.self, from: $0) }) else {
            return answer(nil)
        }
        let once = Once()
        DispatchQueue.main.async { [self] in
            guard let (delegate, center) = addressee else { return answer(nil) }
            delegate.userNotificationCenter(center, willPresent: UNNotification(notification)) { options in
                // Unknown options are removed, because the service refuses them.
                if once.isFirst { answer(Int(clamping: options.intersection(.all).rawValue)) }
            }
        }
    }

    /// Passes the user's response to a notification to the app. Must be called on the main thread.
    ///
    /// - Parameters:
    ///   - receiver: A closure that returns the app, once the app runs as an ``Application``. If there is no delegate,
    ///     the app is notified when the user opens a remote notification.
    ///   - completion: A closure that is called when the app has handled the response. It is called repeatedly if the
    ///     delegate calls its handler repeatedly.
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

/// A flag that is true only when it is read for the first time.
private final class Once: Sendable {
    private let isUsed = Mutex(false)

    var isFirst: Bool {
        isUsed.withLock { isUsed in
            defer { isUsed = true }
            return !isUsed
        }
    }
}
