import NIOCore
import Synchronization

/// A tracker that updates ``Visitors`` and ends the server after the last visitor. It uses at most one timer, and no
/// timer while a visitor is present.
final class VisitorTracker: Sendable {
    private struct State: Sendable {
        var visitors: Visitors
        var hasTimer = false
    }

    private let state: Mutex<State>
    private let loop: any EventLoop
    private let onOver: @Sendable () -> Void
    private let start = ContinuousClock.now

    init(timeout: Duration, on loop: any EventLoop, onOver: @escaping @Sendable () -> Void) {
        state = Mutex(State(visitors: Visitors(timeout: timeout, now: .zero)))
        self.loop = loop
        self.onOver = onOver
    }

    private var now: Duration { ContinuousClock.now - start }

    /// Starts the wait for the first visitor.
    func open() {
        look()
    }

    func enter() {
        state.withLock { $0.visitors.enter() }
    }

    func leave() {
        let now = now
        state.withLock { $0.visitors.leave(at: now) }
        look()
    }

    private func look() {
        let now = now
        let look = state.withLock { state -> Visitors.Look in
            guard !state.hasTimer else { return .visited }
            let look = state.visitors.look(at: now)
            if case .again = look { state.hasTimer = true }
            return look
        }
        switch look {
        case .over: onOver()
        case .visited: break
        case .again(let moment):
            loop.scheduleTask(in: TimeAmount(moment - now)) { [self] in
                state.withLock { $0.hasTimer = false }
                self.look()
            }
        }
    }
}
