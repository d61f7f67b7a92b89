import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A stream of the signals that end this command: ^C, kill(1), and the end of the terminal. The signals are caught
/// while this object exists.
///
/// A single function owns this object.
final class InterruptSignals {
    let stream: AsyncStream<Void>
    private let sources: [any DispatchSourceSignal]
    private let numbers: [Int32]

    init() {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        self.stream = stream
        // If SIGHUP is ignored, as under nohup, it stays ignored.
        numbers = [SIGINT, SIGTERM] + (ForwardedSignals.isIgnored(SIGHUP) ? [] : [SIGHUP])
        sources = numbers.map { SignalSource.taking($0) { continuation.yield() } }
    }

    deinit {
        for source in sources { source.cancel() }
        for number in numbers { signal(number, SIG_DFL) }
    }
}

extension InterruptSignals {
    /// Runs `body` until ^C or SIGTERM. Returns true if a signal arrived. `body` must not return.
    static func ending(_ body: @escaping @Sendable () async throws -> Void) async throws -> Bool {
        let signals = InterruptSignals()
        defer { withExtendedLifetime(signals) {} }
        let interrupts = signals.stream
        return try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await body()
                return false
            }
            group.addTask {
                for await _ in interrupts { return true }
                // The stream ends only when the task group is cancelled.
                throw CancellationError()
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
    }
}
