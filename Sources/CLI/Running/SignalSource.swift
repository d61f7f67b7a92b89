import Dispatch

/// A signal as calls of a handler.
enum SignalSource {
    /// A source that has taken the signal over when this returns; until then the signal's action stays what it was, so that none
    /// is lost. Blocks for that moment, which is why the source has a queue of its own: the threads of the global one may all
    /// be waiting here.
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
