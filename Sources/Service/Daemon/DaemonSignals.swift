import CNightshift
import Glibc
import ServiceLifecycle
import Synchronization

/// The signals that make the service save its state and exit.
package enum DaemonSignals {
    /// All signals that stop the service. Besides the usual ones, they are signals that would otherwise end the
    /// process. SIGHUP arrives when the terminal closes; a service that was started with nohup ignores it.
    static let all = [SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2]

    private struct Handler: Sendable {
        var handle: (@Sendable () -> Void)?
    }

    private static let handler = Mutex(Handler())

    static func shutdown(ignoresHangups: Bool) -> [Int32] {
        all.filter { $0 != SIGHUP || !ignoresHangups }
    }

    private static func ignores(_ signal: Int32) -> Bool {
        var action = sigaction()
        return sigaction(signal, nil, &action) == 0
            && unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
                == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Calls `handler` for each signal that arrives from now on, on the thread that called ``serve()``.
    fileprivate static func handle(_ handler: @escaping @Sendable () -> Void) {
        Self.handler.withLock { $0.handle = handler }
        for signal in shutdown(ignoresHangups: ignores(SIGHUP)) { nightshift_catch_signal(signal) }
    }

    /// Waits for signals. The main thread of the service does nothing else.
    package static func serve() -> Never {
        while true {
            nightshift_wait_for_signal()
            handler.withLock { $0.handle }?()
        }
    }
}

/// The service of the group that stops the whole service when a signal arrives.
struct SignalRunner: Service {
    let stop: @Sendable () -> Void

    func run() async {
        DaemonSignals.handle(stop)
        try? await gracefulShutdown()
    }
}
