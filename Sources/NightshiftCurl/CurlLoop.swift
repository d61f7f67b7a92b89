import CNightshift
import Glibc
import Synchronization

/// One thread with one libcurl multi handle: carries any number of exchanges, and sleeps without a timer when there are none.
///
/// The thread starts with the first exchange and lives until ``shutdown()``; a loop that is never shut down is never freed.
package final class CurlLoop: Sendable {
    private let state = Mutex(State())
    private let multi: Multi
    let limit: CommonLimit
    let sharesConnections: Bool
    let idleSeconds: Int

    /// - Parameters:
    ///   - limit: shared by loops that keep to one rate together.
    ///   - sharesConnections: whether exchanges over HTTP/2 share connections. For small responses: libcurl stops reading a whole
    ///     connection while one of its streams is paused, so that a limited or held exchange holds up all the others there.
    ///     After a response that is not small, others do not use its connection any more.
    ///   - idleSeconds: seconds without an exchange after which no connection is kept: a server has to hold each of them open as well.
    package init(limit: CommonLimit = CommonLimit(), sharesConnections: Bool = false, idleSeconds: Int = 30) {
        multi = Multi()
        self.limit = limit
        self.sharesConnections = sharesConnections
        self.idleSeconds = idleSeconds
    }

    /// Begins an exchange; returns at once. The delegate is kept until the exchange has ended.
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

    /// The common limit was set anew.
    package func rateLimitChanged() {
        postIfRunning(.limitChanged)
    }

    /// Exchanges begun from now on use no connection, address or TLS session from before. Those that run are left alone.
    package func forgetConnections() {
        postIfRunning(.forgetConnections)
    }

    /// Runs `work` on the loop's thread, in order with everything else that was asked of the loop.
    package func perform(_ work: @escaping @Sendable () -> Void) {
        post(.perform(work))
    }

    /// Ends every exchange as cancelled and waits for the thread. Not to be called on the loop's thread.
    ///
    /// Exchanges begun later end at once as cancelled.
    ///
    /// - Parameter isAwaited: whether to wait for the thread, which may be held up by a file system that does not answer.
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

    /// For what concerns only a loop that has had something to do.
    private func postIfRunning(_ command: Command) {
        let isRunning = state.withLock { state in
            if state.isRunning { state.commands.append(command) }
            return state.isRunning
        }
        if isRunning { multi.wakeUp() }
    }

    /// What was asked of the loop since the last time, and whether the thread is to end; nil ends it now.
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
                    // Signals belong to the program; a closed connection must not raise SIGPIPE here.
                    var signals = sigset_t()
                    sigfillset(&signals)
                    // But a fault is handled by the thread that causes it, or ends the process without a word.
                    for fault in [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { sigdelset(&signals, fault) }
                    pthread_sigmask(SIG_BLOCK, &signals, nil)
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
        /// To be joined by ``CurlLoop/shutdown()``.
        var thread: pthread_t?
    }

    enum Command: Sendable {
        case begin(Int, CurlRequest, any CurlDelegate)
        case cancel(Int)
        case resume(Int)
        case limit(Int, Int64?)
        case limitChanged
        /// So many bytes of the common allowance.
        case turn(Int, Int)
        case forgetConnections
        case channel(Int, CurlChannel.Command)
        case perform(@Sendable () -> Void)
    }
}

/// One exchange on a ``CurlLoop``; all calls are for any thread and do nothing once it has ended.
package struct CurlExchange: Sendable {
    let id: Int
    let loop: CurlLoop

    /// Ends the exchange as soon as possible.
    package func cancel() {
        loop.post(.cancel(id))
    }

    /// Goes on after ``CurlBodyAnswer/pause``.
    package func resume() {
        loop.post(.resume(id))
    }

    /// Bytes per second of this exchange; nil is unlimited. Takes effect at once.
    package func setRateLimit(_ bytesPerSecond: Int64?) {
        loop.post(.limit(id, bytesPerSecond))
    }
}

/// The multi handle, freed with its owner.
///
/// Safe to share: other threads only call `curl_multi_wakeup`, which libcurl allows, and the loop's thread keeps the
/// owner alive while it uses the rest.
final class Multi: @unchecked Sendable {
    let handle: UnsafeMutableRawPointer
    /// Of all connections: the last of them are closed with the handle.
    let sockets = Sockets()

    init() {
        // Once per process, before the first handle, and never undone.
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
