import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// ^C, a polite kill and the end of the terminal as values, while it is kept.
///
/// Not shared: it lives and ends in the function that watches.
final class InterruptSignals {
    let stream: AsyncStream<Void>
    private let sources: [any DispatchSourceSignal]
    private let numbers: [Int32]

    init() {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        self.stream = stream
        // nohup has the end of the terminal ignored, and that stays.
        numbers = [SIGINT, SIGTERM] + (ForwardedSignals.isIgnored(SIGHUP) ? [] : [SIGHUP])
        sources = numbers.map { SignalSource.taking($0) { continuation.yield() } }
    }

    deinit {
        for source in sources { source.cancel() }
        for number in numbers { signal(number, SIG_DFL) }
    }
}

extension InterruptSignals {
    /// Runs `body`, which goes on for ever, until ^C or a polite kill. True when a signal came.
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
                // Only when the group is over.
                throw CancellationError()
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
    }
}
