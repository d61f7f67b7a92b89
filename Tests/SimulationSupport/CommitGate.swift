package import GRDB
import Synchronization

/// A gate that allows a limited number of commits, and refuses later ones as a full disk does.
package final class CommitGate: TransactionObserver, Sendable {
    private struct State {
        var commits = 0
        var failsAfter: Int?
        var hasFailed = false
    }

    private let state = Mutex(State())

    package init() {}

    /// The number of commits that succeeded.
    package var commits: Int { state.withLock { $0.commits } }
    /// Whether a commit was refused since the gate was last opened.
    package var hasFailed: Bool { state.withLock { $0.hasFailed } }
    /// Whether the next commit is refused.
    package var isShut: Bool { state.withLock { $0.commits >= $0.failsAfter ?? .max } }

    package func shut() { state.withLock { $0.failsAfter = 0 } }

    /// Allows `count` more commits, or all.
    package func open(for count: Int? = nil) {
        state.withLock { state in
            state.failsAfter = count.map { state.commits + $0 }
            state.hasFailed = false
        }
    }

    package func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }

    package func databaseDidChange(with event: DatabaseEvent) {}

    package func databaseWillCommit() throws {
        let passes = state.withLock { state in
            guard state.commits < state.failsAfter ?? .max else {
                state.hasFailed = true
                return false
            }
            state.commits += 1
            return true
        }
        guard passes else { throw DatabaseError(resultCode: .SQLITE_FULL, message: "no space left") }
    }

    package func databaseDidCommit(_ db: Database) {}

    package func databaseDidRollback(_ db: Database) {}
}
