import Synchronization

/// A rate limit that all exchanges of several loops share.
package final class CommonLimit: Sendable {
    private let queue = Mutex(TurnQueue<Ticket>())
    /// Whether there is a limit. This is an atomic because it is read for every piece of a body, where a lock would be
    /// too slow.
    private let limited = Atomic(false)

    static let shortestPause = TurnQueue<Ticket>.shortestPause
    static let pieceBytes = TurnQueue<Ticket>.pieceBytes

    package init() {}

    /// Sets the limit in bytes per second for both directions together. Nil means unlimited. The caller must then call
    /// ``CurlLoop/rateLimitChanged()`` on each loop.
    package func set(_ bytesPerSecond: Int64?) {
        queue.withLock { queue in
            queue.setRate(bytesPerSecond, now: LoopCore.now())
            limited.store(queue.isLimited, ordering: .releasing)
        }
    }

    package var isLimited: Bool { limited.load(ordering: .acquiring) }

    /// The identity of an exchange that waits for its turn.
    struct Ticket: Equatable, Sendable {
        var loop: CurlLoop
        var id: Int

        static func == (left: Ticket, right: Ticket) -> Bool { left.loop === right.loop && left.id == right.id }
    }

    /// Adds an exchange to the queue. Returns the time at which the loop must call ``giveTurns(now:)``.
    func wait(_ ticket: Ticket, now: Double) -> Double {
        queue.withLock { $0.wait(ticket, now: now) }
    }

    /// Removes an exchange that has ended. The `unused` bytes of its turn become available to other exchanges.
    func leave(_ ticket: Ticket, isQueued: Bool, unused: Int) {
        guard isQueued || unused > 0 else { return }
        queue.withLock { queue in
            if isQueued { queue.leave(ticket) }
            if unused > 0 { queue.giveBack(unused, now: LoopCore.now()) }
        }
    }

    /// Gives the turns that are due, to exchanges on any loop. Returns the time at which to call this method again.
    func giveTurns(now: Double) -> Double? {
        let (turns, next) = queue.withLock { queue in
            let turns = queue.turns(now: now)
            return (turns, queue.nextTurn(now: now))
        }
        for ticket in turns.tickets { ticket.loop.post(.turn(ticket.id, turns.bytes)) }
        return next
    }
}
