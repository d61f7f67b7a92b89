import Executors
import Foundation
import NightshiftAPI
import NightshiftClient
import Synchronization

/// An object that registers the app for remote notifications with the service, and stores the token that the service
/// issues.
final class PushHandler: Sendable {
    private let queue = WorkQueue()
    private let state = Mutex(State())

    private struct State {
        weak var connection: ServiceConnection?
        weak var receiver: (any CommandReceiver)?
        /// The app's last request. The value is nil if this process has not made a request.
        var wish: Wish?
        /// Whether the service has received the app's request to unregister. Such a request is not sent again.
        var isUnregistered = false
        /// The last notice from the service.
        var notice: PushNotice?
        /// The last notice that the app's delegate received.
        var told: PushNotice?
        /// Whether the app has registered since its delegate was last notified. In that case, the delegate is notified
        /// even if the notice is unchanged.
        var isOwed = false
    }

    private enum Wish {
        case registered
        case unregistered
    }

    private static let timeout: Duration = .seconds(30)

    func connect(to connection: ServiceConnection) {
        state.withLock { $0.connection = connection }
    }

    // MARK: - Requests of the app

    /// Registers the app.
    ///
    /// - Parameter receiver: The object that receives the token.
    func register(for receiver: any CommandReceiver) {
        state.withLock { state in
            state.receiver = receiver
            state.wish = .registered
            state.isOwed = true
        }
        sendLater()
    }

    func unregister() {
        state.withLock { state in
            state.wish = .unregistered
            state.isUnregistered = false
            state.isOwed = false
            state.notice = nil
            state.told = nil
        }
        sendLater()
    }

    /// Whether the app has registered, and the service has a token for it.
    var isRegistered: Bool { state.withLock { $0.wish != .unregistered && $0.notice?.token != nil } }

    /// Sends the app's last request when the service can be reached, for the first time or again.
    func onReconnect() {
        if state.withLock({ $0.wish == .registered || $0.wish == .unregistered && !$0.isUnregistered }) { sendLater() }
    }

    private func sendLater() {
        queue.add { [self] in
            let (connection, wish, isUnregistered) = state.withLock { ($0.connection, $0.wish, $0.isUnregistered) }
            guard let connection, let wish, wish == .registered || !isUnregistered else { return }
            connection.wake()
            switch wish {
            case .registered: register(on: connection)
            case .unregistered: unregister(on: connection)
            }
        }
    }

    private func register(on connection: ServiceConnection) {
        do {
            receive(try connection.request(.registerForPush, timeout: Self.timeout))
        } catch let problem as Problem {
            receive(PushNotice(error: problem.detail ?? problem.title))
        } catch {
            // After this failure, the request is sent again on the next channel.
        }
    }

    private func unregister(on connection: ServiceConnection) {
        do {
            try connection.notify(.unregisterFromPush, timeout: Self.timeout)
        } catch is Problem {
            // The app was not registered, so the request to unregister is complete.
        } catch {
            return
        }
        state.withLock { $0.isUnregistered = true }
    }

    // MARK: - Notices of the service

    func receive(_ notice: PushNotice) {
        let receiver = state.withLock { state -> (any CommandReceiver)? in
            guard state.wish != .unregistered else { return nil }
            state.notice = notice
            // A token is not delivered until the app has registered in this process.
            guard state.wish == .registered, notice.token != nil || notice.error != nil,
                state.isOwed || notice != state.told
            else { return nil }
            state.isOwed = false
            state.told = notice
            return state.receiver
        }
        receiver?.registrationEnded(notice)
    }
}

extension PushNotice {
    /// The token's bytes. The value is nil if the service has sent no token, or if the token is not hexadecimal.
    var tokenData: Data? {
        guard let digits = token.map({ Array($0.utf8) }), !digits.isEmpty, digits.count.isMultiple(of: 2) else {
            return nil
        }
        let values = digits.compactMap { Character(UnicodeScalar($0)).hexDigitValue.map(UInt8.init) }
        guard values.count == digits.count else { return nil }
        return Data(stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] })
    }
}
