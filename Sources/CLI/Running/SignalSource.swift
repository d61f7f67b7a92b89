import Dispatch

/// Delivers signals to handlers.
enum SignalSource {
    /// Returns a source that handles the signal. Until this returns, the signal's previous action stays in effect, so
    /// that no signal is lost. It blocks for a short time. The source has its own queue, because all threads of the
    /// global queue may be blocked here.
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
