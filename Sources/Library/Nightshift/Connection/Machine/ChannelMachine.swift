import NightshiftAPI

/// An effect that a ``ChannelMachine`` requests. ``ServiceConnection`` executes actions in order, without holding its
/// lock.
enum ChannelAction: Equatable, Sendable {
    /// Makes this attempt to open the channel after a pause, unless another attempt has replaced it by then.
    case connect(attempt: Int, after: Duration)
    /// Cancels the stream that this attempt has got. The stream of a later attempt is not affected.
    case stopReading(attempt: Int)
    /// Resumes waiting callers. Each caller is resumed once.
    case resume([Int])
    /// Reports to the user that the service cannot be reached.
    case report(trouble: String)
    /// Notifies all parts of the library that the service can be reached, for the first time or again.
    case reportReconnect
    /// Checks after a pause whether the service answers again.
    case check(ProcessHello)
}

/// The state machine of the channel of this process to the service.
///
/// Inputs are methods. They return actions, which ``ServiceConnection`` executes. These are the phases and their legal
/// exits. Every phase also leads to `closed`.
///
/// | Phase | Exits |
/// |---|---|
/// | `unused` | `opening` when a caller waits for the channel |
/// | `opening` | `reading`; `opening` with the next attempt after a failure, or at once after ``wake()`` |
/// | `reading` | `greeted`; `opening` when the stream ends |
/// | `greeted` | `open`; `dropped` if the service does not accept the background tasks of this process |
/// | `open` | `dropped` if the service no longer knows the channel; `opening` when the stream ends |
/// | `dropped` | `opening` when the stream ends |
/// | `closed` | none |
struct ChannelMachine: Sendable {
    enum Phase: Equatable, Sendable {
        case unused
        /// The phase in which an attempt is scheduled or running.
        case opening
        /// The phase in which the channel has a stream, but the service's greeting has not arrived yet.
        case reading
        /// The phase in which the service learns about the background tasks of this process. No other request is sent.
        case greeted(ProcessHello)
        /// - isDoubted: Whether a request timed out and the service has not answered since then.
        case open(ProcessHello, isDoubted: Bool)
        /// The phase in which a stream that this process no longer wants is ending. Its end is not a failure of the
        /// service.
        case dropped(channel: String?)
        case closed
    }

    /// The event that a caller waits for.
    private enum Event {
        case opening
        /// The end of the current attempt, or an opening before it.
        case endOfAttempt
    }

    /// The result of a caller's request for the channel.
    enum Access: Equatable, Sendable {
        case open(ProcessHello)
        case closed
        /// The result for a caller that fails fast. No service can be reached.
        case unreachable
        /// The caller waits until the waiter with this number is resumed, and then asks again.
        case waiting(Int)
    }

    private(set) var phase = Phase.unused
    /// Whether an attempt has failed since the channel was last open.
    private(set) var isUnreachable = false
    /// Whether the service announced that it is stopping. In that case, the library starts the service again only when
    /// the app makes a new request.
    private(set) var wasStopped = false
    /// The reason why the last attempt failed, or why the last channel ended.
    private(set) var trouble: String?
    /// The number of the current attempt. Attempts with other numbers were replaced.
    private var attempt = 0
    private var backoff = Backoff(.milliseconds(50)...(.seconds(5)))
    /// The callers that wait for the channel.
    private var waiters = Waiters<Event>()

    /// The service's greeting, if the channel is open.
    var hello: ProcessHello? {
        if case .open(let hello, _) = phase { return hello }
        return nil
    }

    /// The name of the channel on which events arrive.
    var channel: String? {
        switch phase {
        case .greeted(let hello), .open(let hello, _): hello.channel
        case .dropped(let channel): channel
        case .unused, .opening, .reading, .closed: nil
        }
    }

    func isOpen(_ hello: ProcessHello) -> Bool { self.hello.map { $0.channel == hello.channel } ?? false }

    // MARK: - Callers

    mutating func requestAccess(failsFast: Bool) -> (access: Access, actions: [ChannelAction]) {
        if phase == .closed { return (.closed, []) }
        if let hello { return (.open(hello), []) }
        if failsFast && isUnreachable { return (.unreachable, []) }
        let number = waiters.add(failsFast ? .endOfAttempt : .opening)
        return (.waiting(number), phase == .unused ? connect(after: .zero) : [])
    }

    /// Removes a waiter whose time limit has passed.
    mutating func stopWaiting(_ number: Int) { waiters.remove(number) }

    private mutating func resume(_ isMeant: (Event) -> Bool) -> [ChannelAction] {
        let numbers = waiters.take(isMeant)
        return numbers.isEmpty ? [] : [.resume(numbers)]
    }

    /// Handles a new request of the app by making an attempt at once, if the service was stopped. The attempt may start
    /// the service.
    mutating func wake() -> [ChannelAction] {
        guard wasStopped else { return [] }
        (wasStopped, isUnreachable) = (false, false)
        backoff.reset()
        return phase == .opening ? connect(after: .zero) : []
    }

    // MARK: - Attempts

    private mutating func connect(after pause: Duration) -> [ChannelAction] {
        attempt += 1
        phase = .opening
        return [.connect(attempt: attempt, after: pause)]
    }

    /// Whether this attempt has to be made or is running.
    func isDue(_ attempt: Int) -> Bool { phase == .opening && self.attempt == attempt }

    /// Records that an attempt has got a stream.
    ///
    /// - Returns: False if the stream is no longer wanted.
    mutating func connected(_ attempt: Int) -> Bool {
        guard isDue(attempt) else { return false }
        phase = .reading
        return true
    }

    mutating func greeted(_ hello: ProcessHello) {
        if phase == .reading { phase = .greeted(hello) }
    }

    /// Handles the service's acceptance of the background tasks of this process.
    mutating func opened() -> [ChannelAction] {
        guard case .greeted(let hello) = phase else { return [] }
        phase = .open(hello, isDoubted: false)
        (wasStopped, isUnreachable, trouble) = (false, false, nil)
        backoff.reset()
        return resume { _ in true } + [.reportReconnect]
    }

    /// Handles the service's announcement that it is stopping.
    mutating func stopping() { wasStopped = true }

    /// Drops a channel. A newer channel is not affected.
    mutating func drop(_ hello: ProcessHello) -> [ChannelAction] {
        switch phase {
        case .greeted(let current) where current.channel == hello.channel,
            .open(let current, _) where current.channel == hello.channel:
            phase = .dropped(channel: hello.channel)
            return [.stopReading(attempt: attempt)]
        default: return []
        }
    }

    /// Handles the failure of an attempt, or the end of its stream.
    mutating func ended(_ attempt: Int, trouble: String) -> [ChannelAction] {
        guard phase != .closed, self.attempt == attempt else { return [] }
        let hasFailed =
            switch phase {
            // After the end of an open channel, the library first tries to reopen it. Waiting callers get an error only
            // if that attempt fails.
            case .open, .dropped: false
            case .unused, .opening, .reading, .greeted, .closed: true
            }
        let isNews = hasFailed && !isUnreachable && !wasStopped
        isUnreachable = isUnreachable || hasFailed
        self.trouble = trouble
        return connect(after: backoff.nextPause()) + (isNews ? [.report(trouble: trouble)] : [])
            // The report comes first, because a resumed thread may end the process.
            + (hasFailed ? resume { $0 == .endOfAttempt } : [])
    }

    /// Disconnects from the service for good.
    mutating func close() -> [ChannelAction] {
        phase = .closed
        return [.stopReading(attempt: attempt)] + resume { _ in true }
    }

    // MARK: - Doubt

    /// Handles a request that timed out on an open channel.
    mutating func doubt(_ hello: ProcessHello) -> [ChannelAction] {
        guard case .open(let current, isDoubted: false) = phase, current.channel == hello.channel else { return [] }
        phase = .open(current, isDoubted: true)
        return [.check(hello)]
    }

    /// Handles the service's answer to a check.
    mutating func answered(_ hello: ProcessHello) -> [ChannelAction] {
        guard isOpen(hello) else { return [] }
        phase = .open(hello, isDoubted: false)
        return [.reportReconnect]
    }
}
