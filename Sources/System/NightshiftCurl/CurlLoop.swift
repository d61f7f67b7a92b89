import CNightshift
import Executors
import Glibc
import Synchronization

/// A thread with one libcurl multi handle. It handles any number of exchanges, and sleeps without a timer if there are
/// no exchanges.
///
/// The thread starts with the first exchange and runs until ``shutdown()``. If a loop is not shut down, it is never
/// freed.
package final class CurlLoop: Sendable {
    private let state = Mutex(State())
    private let multi: Multi
    let limit: CommonLimit
    let sharesConnections: Bool
    let idleSeconds: Int

    /// Makes a loop.
    ///
    /// - Parameters:
    ///   - limit: A rate limit that several loops may share.
    ///   - sharesConnections: Whether exchanges over HTTP/2 share connections. Sharing suits small responses: libcurl
    ///     stops reading a whole connection while one of its streams is paused, so a limited or paused exchange blocks
    ///     all other exchanges on the connection. After a response that is not small, other exchanges no longer use its
    ///     connection.
    ///   - idleSeconds: The time in seconds without an exchange after which all connections are closed, because open
    ///     connections also cost the server resources.
    package init(limit: CommonLimit = CommonLimit(), sharesConnections: Bool = false, idleSeconds: Int = 30) {
        multi = Multi()
        self.limit = limit
        self.sharesConnections = sharesConnections
        self.idleSeconds = idleSeconds
    }

    /// Begins an exchange and returns at once. The delegate is retained until the exchange has ended.
    package func begin(_ request: CurlRequest, delegate: any CurlDelegate) -> CurlExchange {
        let id = nextID()
        post(.begin(id, request, delegate))
        return CurlExchange(id: id, loop: self)
    }

    func nextID() -> Int {
        state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
    }

    /// Applies a change of the common rate limit.
    package func rateLimitChanged() {
        postIfRunning(.limitChanged)
    }

    /// Prevents new exchanges from using earlier connections, addresses or TLS sessions. Exchanges in progress are not
    /// affected.
    package func forgetConnections() {
        postIfRunning(.forgetConnections)
    }

    /// Runs `work` on the loop's thread, in order with all other commands.
    package func perform(_ work: @escaping @Sendable () -> Void) {
        post(.perform(work))
    }

    /// Ends every exchange as cancelled and waits for the thread. Must not be called on the loop's thread. Exchanges
    /// that begin later end at once as cancelled.
    ///
    /// - Parameter isAwaited: Whether to wait for the thread. A file system that does not answer may block the thread.
    package func shutdown(isAwaited: Bool = true) {
        let thread = state.withLock { state -> pthread_t? in
            state.isStopping = true
            defer { state.thread = nil }
            return state.thread
        }
        multi.wakeUp()
        guard let thread else { return }
        if isAwaited { pthread_join(thread, nil) } else { pthread_detach(thread) }
    }

    func post(_ command: Command) {
        state.withLock { state in
            state.commands.append(command)
            if !state.isRunning { start(&state) }
        }
        multi.wakeUp()
    }

    /// Posts a command that matters only if the loop's thread is running.
    private func postIfRunning(_ command: Command) {
        let isRunning = state.withLock { state in
            if state.isRunning { state.commands.append(command) }
            return state.isRunning
        }
        if isRunning { multi.wakeUp() }
    }

    /// Returns the commands received since the last call, and whether the loop is stopping. Returns nil if the thread
    /// must end now.
    func takeCommands(isIdle: Bool) -> (commands: [Command], isStopping: Bool)? {
        state.withLock { state in
            if state.isStopping, state.commands.isEmpty, isIdle {
                state.isRunning = false
                return nil
            }
            defer { state.commands.removeAll(keepingCapacity: true) }
            return (state.commands, state.isStopping)
        }
    }

    private func start(_ state: inout State) {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        let result = ThreadStart.result(of: {
            pthread_create(
                &thread, nil,
                { context in
                    guard let context else { return nil }
                    let loop = Unmanaged<CurlLoop>.fromOpaque(context).takeRetainedValue()
                    nightshift_name_thread("nightshift-curl")
                    ThreadStart.leaveSignals()
                    LoopCore(loop: loop, multi: loop.multi).run()
                    return nil
                }, context.toOpaque())
        })
        precondition(result == 0, "no thread could be started for the network: \(String(cString: strerror(result)))")
        state.isRunning = true
        if state.isStopping { pthread_detach(thread) } else { state.thread = thread }
    }

    private struct State: Sendable {
        var commands: [Command] = []
        var lastID = 0
        var isRunning = false
        var isStopping = false
        /// The loop's thread, which ``CurlLoop/shutdown()`` joins.
        var thread: pthread_t?
    }

    enum Command: Sendable {
        case begin(Int, CurlRequest, any CurlDelegate)
        case cancel(Int)
        case resume(Int)
        case limit(Int, Int64?)
        case yield(Int, CurlYield?)
        case limitChanged
        /// A command that gives an exchange its turn: a number of bytes of the common limit.
        case turn(Int, Int)
        case forgetConnections
        case channel(Int, CurlChannel.Command)
        case perform(@Sendable () -> Void)
    }
}

/// An exchange on a ``CurlLoop``. All methods may be called on any thread, and have no effect once the exchange has
/// ended.
package struct CurlExchange: Sendable {
    let id: Int
    let loop: CurlLoop

    /// Ends the exchange as soon as possible.
    package func cancel() {
        loop.post(.cancel(id))
    }

    /// Continues the exchange after ``CurlBodyAnswer/pause``.
    package func resume() {
        loop.post(.resume(id))
    }

    /// Sets the limit of this exchange in bytes per second. Nil means unlimited. The change takes effect at once.
    package func setRateLimit(_ bytesPerSecond: Int64?) {
        loop.post(.limit(id, bytesPerSecond))
    }

    /// Sets whether this exchange yields to other traffic. Nil means that it does not. The change takes effect at once.
    package func setYield(_ yields: CurlYield?) {
        loop.post(.yield(id, yields))
    }
}

/// The owner of a multi handle. The handle is freed together with this object.
///
/// The object can be shared: other threads only call `curl_multi_wakeup`, which libcurl allows. The loop's thread keeps
/// the object alive while it makes any other call.
final class Multi: @unchecked Sendable {
    let handle: UnsafeMutableRawPointer
    /// The sockets of all connections. The sockets that are still open are closed when the handle is freed.
    let sockets = Sockets()

    init() {
        // This initialises libcurl once per process, before the first handle. libcurl is never cleaned up.
        _ = Self.library
        guard let handle = curl_multi_init() else { fatalError("libcurl could not be started: no memory") }
        self.handle = handle
    }

    deinit {
        curl_multi_cleanup(handle)
    }

    func wakeUp() {
        curl_multi_wakeup(handle)
    }

    private static let library: CURLcode = curl_global_init(Int(CURL_GLOBAL_ALL))
}
