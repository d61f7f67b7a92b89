import Dispatch
import Executors
import Foundation
import NightshiftAPI
import NightshiftClient
import Synchronization

/// An object that sends the app's fetch interval to the service, and stores the refresh availability that the service
/// reports.
final class RefreshHandler: Sendable {
    private let queue = WorkQueue()
    private let state = Mutex(State())

    private struct State {
        weak var connection: ServiceConnection?
        /// The interval that the app set last. It is sent on every channel.
        var interval: RefreshInterval?
        var availability: RefreshAvailability?
        /// Whether a caller has received ``availability``, even if its value was nil.
        var isTold = false
        /// Whether a wait for ``availability`` failed and the service has not reconnected since. Callers do not wait if
        /// this value is true.
        var isUnheard = false
        var waiters: [DispatchSemaphore] = []
        /// The app's manifest, and the channel on which the service sent it.
        var entry: (channel: String?, manifest: AppManifest?)?
        var hasAdvisedMode = false
    }

    /// The longest time that a caller waits for the service's answer.
    static let timeout: Duration = .seconds(2)
    private static let reportTimeout: Duration = .seconds(30)

    func connect(to connection: ServiceConnection) {
        state.withLock { $0.connection = connection }
    }

    // MARK: - The interval

    func setInterval(_ interval: RefreshInterval) {
        state.withLock { $0.interval = interval }
        reportLater()
    }

    /// Sends the interval when the service can be reached, for the first time or again.
    func onReconnect() {
        state.withLock { $0.isUnheard = false }
        if state.withLock({ $0.interval != nil }) { reportLater() }
    }

    private func reportLater() {
        queue.add { [self] in
            let (connection, interval) = state.withLock { ($0.connection, $0.interval) }
            guard let connection, let interval else { return }
            // If sending fails, the interval is sent on the next channel.
            try? connection.notify(.setInterval(interval), timeout: Self.reportTimeout)
            if interval != .never { adviseMode() }
        }
    }

    /// Prints, once, which line of the desktop entry is missing. Without that line, the interval has no effect.
    private func adviseMode() {
        guard !state.withLock(\.hasAdvisedMode), case .known(let manifest) = entry() else { return }
        let advice: String
        if let manifest, !manifest.modes.contains(.fetch) {
            advice =
                "\(manifest.entry) needs the mode 'fetch' in X-Nightshift-BackgroundModes (X-Nightshift-BackgroundModes=fetch;)"
        } else if let manifest, !manifest.taskIdentifiers.isEmpty {
            advice =
                "\(manifest.entry) has X-Nightshift-TaskIdentifiers, which replaces background fetches: "
                + "submit a BGAppRefreshTaskRequest, or remove that key"
        } else if manifest == nil {
            advice = "the app needs a desktop entry with X-Nightshift-BackgroundModes=fetch; (nightshift app install)"
        } else {
            return
        }
        state.withLock { $0.hasAdvisedMode = true }
        Notice.print("The interval of background fetches has no effect: \(advice).")
    }

    // MARK: - Availability

    /// The availability that the service reported. The value is nil if the service does not report an availability
    /// within ``timeout``.
    var availability: RefreshAvailability? {
        let waiter = DispatchSemaphore(value: 0)
        let (known, connection) = state.withLock { state -> (RefreshAvailability?, ServiceConnection?) in
            guard state.availability == nil, !state.isUnheard else {
                state.isTold = true
                return (state.availability, nil)
            }
            state.waiters.append(waiter)
            return (nil, state.connection)
        }
        guard let connection else { return known }
        let deadline = ContinuousClock.now + Self.timeout
        let isConnected = (try? connection.openChannel(until: deadline, hasty: true)) != nil
        if isConnected { _ = waiter.wait(within: deadline - .now) }
        return state.withLock { state in
            state.waiters.removeAll { $0 === waiter }
            state.isUnheard = state.availability == nil
            state.isTold = true
            return state.availability
        }
    }

    /// Stores the availability that the service reports.
    ///
    /// - Returns: Whether the app must be notified of a change.
    func receive(_ notice: RefreshNotice) -> Bool {
        let (waiters, isChange) = state.withLock { state in
            // A caller that received nil has seen the status "restricted".
            let isChange = state.isTold && (state.availability ?? .restricted) != notice.availability
            state.availability = notice.availability
            defer { state.waiters = [] }
            return (state.waiters, isChange)
        }
        for waiter in waiters { waiter.signal() }
        return isChange
    }

    // MARK: - The app's desktop entry

    /// The library's knowledge of the app's desktop entry.
    enum Entry {
        case known(AppManifest?)
        /// The result if the library could not reach the service, or the service did not answer.
        case unknown
    }

    /// Returns the app's desktop entry, which is requested once per channel. This method waits for at most ``timeout``.
    func entry() -> Entry {
        guard let connection = state.withLock(\.connection),
            let hello = try? connection.openChannel(until: .now + Self.timeout, hasty: true)
        else { return .unknown }
        if let entry = state.withLock(\.entry), entry.channel == hello.channel { return .known(entry.manifest) }
        guard hello.isInstalled else { return .known(nil) }
        do {
            let app = try connection.request(.app(hello.app), hasty: true, timeout: Self.timeout)
            state.withLock { $0.entry = (hello.channel, app.manifest) }
            return .known(app.manifest)
        } catch {
            return .unknown
        }
    }
}
