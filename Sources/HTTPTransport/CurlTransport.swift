import NightshiftCurl
package import Transfers

/// ``Transport`` over libcurl: one thread that moves the bytes of all exchanges.
///
/// Follows redirects, answers credentials, resumes pauses, and knows nothing of tasks, validators or retries.
package final class CurlTransport: Transport {
    private let loop = CurlLoop()

    package init() {}

    package func begin(_ request: WireRequest, receiver: any ExchangeReceiver) -> any ExchangeHandle {
        let exchange = RedirectedExchange(request, receiver: receiver, loop: loop)
        exchange.begin()
        return exchange
    }

    package func setRateLimit(_ bytesPerSecond: Int64?) {
        loop.setRateLimit(bytesPerSecond)
    }

    package func forgetConnections() {
        loop.forgetConnections()
    }

    /// Ends every exchange as cancelled and waits for the thread. Receivers must not wait for the caller in turn.
    package func shutdown() {
        loop.shutdown()
    }
}
