import Glibc
import NightshiftCurl
import Synchronization
package import Transfers

/// ``Transport`` over libcurl: few threads, at most one a core, that move the bytes of all exchanges.
///
/// Follows redirects, answers credentials, resumes pauses, and knows nothing of tasks, validators or retries.
package final class CurlTransport: Transport {
    private let limit = CommonLimit()
    private let loops: [CurlLoop]
    private let placement: Mutex<LoopPlacement>

    /// More would only wait for the disk, or for each other.
    private static let maximumLoops = 4

    package init() {
        let cores = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        let limit = limit
        loops = (0..<min(cores, Self.maximumLoops)).map { _ in CurlLoop(limit: limit) }
        placement = Mutex(LoopPlacement(loops: loops.count))
    }

    package func begin(_ request: WireRequest, receiver: any ExchangeReceiver) -> any ExchangeHandle {
        let url = try? TransferURL(parsing: request.url)
        let index = placement.withLock { $0.begin(origin: url?.origin ?? "", isSecure: url?.isSecure == true) }
        let exchange = RedirectedExchange(request, receiver: receiver, loop: loops[index]) { [self] in
            placement.withLock { $0.end(on: index) }
        }
        exchange.begin()
        return exchange
    }

    package func setRateLimit(_ bytesPerSecond: Int64?) {
        limit.set(bytesPerSecond)
        for loop in loops { loop.rateLimitChanged() }
    }

    package func forgetConnections() {
        for loop in loops { loop.forgetConnections() }
    }

    /// Ends every exchange as cancelled and waits for the threads. Receivers must not wait for the caller in turn.
    package func shutdown() {
        for loop in loops { loop.shutdown() }
    }
}
