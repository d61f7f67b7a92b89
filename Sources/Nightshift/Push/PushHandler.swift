import Dispatch
import Foundation
import NightshiftAPI
import NightshiftClient
import Synchronization

/// Tells the service whether the app wants remote notifications, and keeps the token that it is given.
final class PushHandler: Sendable {
    private let queue = DispatchQueue(label: "nightshift.push")
    private let state = Mutex(State())

    private struct State {
        weak var connection: ServiceConnection?
        weak var receiver: (any CommandReceiver)?
        /// What the app has said last; nil while this process has said nothing.
        var wish: Wish?
        /// Whether the service has heard that the app wants none any more, which it need not hear again.
        var isUnregistered = false
        /// What the service has said last.
        var notice: PushNotice?
        /// What the app's delegate has heard last.
        var told: PushNotice?
        /// Whether the app has registered and its delegate has not heard of it: it hears what it has heard before,
        /// too.
        var isOwed = false
    }

    private enum Wish {
        case registered
        case unregistered
    }

    private static let patience: Duration = .seconds(30)

    func connect(to connection: ServiceConnection) {
        state.withLock { $0.connection = connection }
    }

    // MARK: - What the app wants

    /// - Parameter receiver: hears of the token.
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

    /// The service can be reached (again).
    func serviceIsBack() {
        if state.withLock({ $0.wish == .registered || $0.wish == .unregistered && !$0.isUnregistered }) { sendLater() }
    }

    private func sendLater() {
        queue.async { [self] in
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
            receive(try connection.request(.registerForPush, patience: Self.patience))
        } catch let problem as Problem {
            receive(PushNotice(error: problem.detail ?? problem.title))
        } catch {
            // The next channel begins with it.
        }
    }

    private func unregister(on connection: ServiceConnection) {
        do {
            try connection.notify(.unregisterFromPush, patience: Self.patience)
        } catch is Problem {
            // It was not registered, which is all that was wanted.
        } catch {
            return
        }
        state.withLock { $0.isUnregistered = true }
    }

    // MARK: - What the service says

    func receive(_ notice: PushNotice) {
        let receiver = state.withLock { state -> (any CommandReceiver)? in
            guard state.wish != .unregistered else { return nil }
            state.notice = notice
            // A token that the app has not asked for in this process is not its own business yet.
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
    /// The token's bytes; nil where there is none, or none in hexadecimal.
    var tokenData: Data? {
        guard let digits = token.map({ Array($0.utf8) }), !digits.isEmpty, digits.count.isMultiple(of: 2) else {
            return nil
        }
        let values = digits.compactMap { Character(UnicodeScalar($0)).hexDigitValue.map(UInt8.init) }
        guard values.count == digits.count else { return nil }
        return Data(stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] })
    }
}
