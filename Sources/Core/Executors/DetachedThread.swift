import CNightshift
import Foundation
import Glibc

/// A way to start threads that nothing waits for.
enum DetachedThread {
    private final class Body {
        let name: String
        let run: @Sendable () -> Void

        init(_ name: String, _ run: @escaping @Sendable () -> Void) {
            self.name = name
            self.run = run
        }
    }

    /// Starts a thread that must exist. While a limit does not allow another thread, this blocks the caller and tries
    /// again: the limit counts the threads of all programs of the user, and other threads end sooner or later.
    static func startWhenPossible(_ name: String, _ body: @escaping @Sendable () -> Void) {
        while !start(name, body) { usleep(50_000) }
    }

    /// Starts a thread that runs `body`, and ends after it.
    ///
    /// - Returns: whether the thread was started. A limit on threads may prevent that (`EAGAIN`, pthread_create(3)).
    static func start(_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        let context = Unmanaged.passRetained(Body(name, body))
        let result = pthread_create(
            &thread, &attributes,
            { context in
                guard let context else { return nil }
                let body = Unmanaged<Body>.fromOpaque(context).takeRetainedValue()
                nightshift_name_thread(body.name)
                // Other threads of the program handle signals. A crash is still handled by the thread that causes it.
                var signals = sigset_t()
                sigfillset(&signals)
                for fault in [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { sigdelset(&signals, fault) }
                pthread_sigmask(SIG_BLOCK, &signals, nil)
                body.run()
                return nil
            }, context.toOpaque())
        if result != 0 { context.release() }
        return result == 0
    }
}

/// The processors of the machine.
enum Processors {
    /// Returns the number of processors that this process may use, limited to a range.
    static func count(within range: ClosedRange<Int>) -> Int {
        min(max(ProcessInfo.processInfo.activeProcessorCount, range.lowerBound), range.upperBound)
    }
}
