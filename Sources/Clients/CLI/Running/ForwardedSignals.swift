import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A stream of the signals that ask this program to end. The program passes these signals on to the program that it
/// runs. The signals are caught while this object exists.
///
/// Signals that were ignored when this program started stay ignored, as under nohup(1).
final class ForwardedSignals {
    let stream: AsyncStream<Int32>
    private let sources: [(number: Int32, source: any DispatchSourceSignal)]
    private static let numbers = [SIGINT, SIGQUIT, SIGTERM, SIGHUP]

    init() {
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
        self.stream = stream
        sources = Self.numbers.filter { !Self.isIgnored($0) }.map { number in
            (number, SignalSource.taking(number) { continuation.yield(number) })
        }
    }

    deinit {
        for (number, source) in sources {
            source.cancel()
            signal(number, SIG_DFL)
        }
    }

    static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        // These handlers cannot be called, so their values are only compared as numbers.
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
