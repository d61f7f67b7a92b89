import Dispatch

/// A factory of sources that deliver signals to handlers.
enum SignalSource {
    /// Returns a source that handles the signal. Until this returns, the signal keeps its previous action, so that no
    /// signal is lost. This blocks the caller for a short time. The source has its own queue, because all threads of
    /// the global queue may be blocked.
    static func taking(_ number: Int32, _ handler: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
        let registered = DispatchSemaphore(value: 0)
        let source = DispatchSource.makeSignalSource(signal: number, queue: DispatchQueue(label: "signal"))
        source.setEventHandler(handler: handler)
        source.setRegistrationHandler { registered.signal() }
        source.resume()
        registered.wait()
        return source
    }
}
