import CNightshift
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

    /// Starts a thread that must exist. While a limit does not allow another thread, this blocks the caller.
    static func startWhenPossible(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let result = ThreadStart.result { create(name, body) }
        precondition(result == 0, "\(name) could not be started: \(String(cString: strerror(result)))")
    }

    /// Starts a thread that runs `body`, and ends after it.
    ///
    /// - Returns: whether the thread was started. A limit on threads may prevent that (`EAGAIN`, pthread_create(3)).
    static func start(_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool { create(name, body) == 0 }

    private static func create(_ name: String, _ body: @escaping @Sendable () -> Void) -> Int32 {
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
                ThreadStart.leaveSignals()
                body.run()
                return nil
            }, context.toOpaque())
        if result != 0 { context.release() }
        return result
    }
}
