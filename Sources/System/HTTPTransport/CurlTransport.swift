import Glibc
package import Mounts
import NightshiftAPI
import NightshiftCurl
import Synchronization
package import Transfers

/// A ``Transport`` that uses libcurl. A few threads move the bytes of all exchanges: at most one per core, one for
/// small files, and one for each other file system, because a file system may block its thread.
///
/// The transport follows redirects, sends credentials and resumes paused exchanges. It does not know tasks, validators
/// or retries.
package final class CurlTransport: Transport {
    private let limit = CommonLimit()
    private let loops: [CurlLoop]
    private let sharingLoop: CurlLoop
    private let placement: Mutex<LoopPlacement>
    private let placed = Mutex(PlacedLoops())

    /// The maximum number of loops. More loops would only wait for the disk or for each other.
    private static let maximumLoops = 4

    package init() {
        let cores = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        let limit = limit
        loops = (0..<min(cores, Self.maximumLoops)).map { _ in CurlLoop(limit: limit) }
        sharingLoop = CurlLoop(limit: limit, sharesConnections: true)
        placement = Mutex(LoopPlacement(loops: loops.count))
    }

    package func begin(_ request: WireRequest, receiver: any ExchangeReceiver) -> any ExchangeHandle {
        if let place = request.place { return begin(request, receiver: receiver, at: place) }
        let url = try? TransferURL(parsing: request.url)
        let wish = LoopPlacement.Request(
            origin: url?.origin ?? "", isSecure: url?.isSecure == true, mayShare: mayShare(request),
            yields: request.yields != nil)
        let index = placement.withLock { $0.begin(wish) }
        let loop = index == LoopPlacement.sharing ? sharingLoop : loops[index]
        let exchange = RedirectedExchange(request, receiver: receiver, loop: loop, versions: versions) {
            [self] head, bytes in
            placement.withLock { $0.end(wish, on: index, bytes: head?.httpVersion == "2" ? bytes : nil) }
        }
        exchange.begin()
        return exchange
    }

    private func begin(
        _ request: WireRequest, receiver: any ExchangeReceiver, at place: FileSystemKey
    ) -> any ExchangeHandle {
        let (slot, loop, unused) = placed.withLock { $0.begin(at: place, limit: limit) }
        unused?.shutdown(isAwaited: false)
        let exchange = RedirectedExchange(request, receiver: receiver, loop: loop, versions: versions) { [self] _, _ in
            placed.withLock { $0.end(in: slot) }
        }
        exchange.begin()
        return exchange
    }

    /// The HTTP versions that origins require, shared by all loops.
    private var versions: RedirectedExchange.Versions {
        RedirectedExchange.Versions(
            wantsHTTP1: { [self] origin in placement.withLock { $0.wantsHTTP1(origin) } },
            record: { [self] origin in placement.withLock { $0.recordHTTP1(origin) } })
    }

    package func answer(from place: FileSystemKey, _ answered: @escaping @Sendable () -> Void) {
        guard let loop = placed.withLock({ $0.loop(of: place) }) else { return answered() }
        loop.perform(answered)
    }

    /// Returns whether a request may share a connection. A request with a rate limit may not, because the limit would
    /// slow all exchanges on the connection. A request for a part of a file may not, because such a file is usually
    /// large.
    private func mayShare(_ request: WireRequest) -> Bool {
        request.method == "GET" && request.body == nil && request.rateLimit == nil && !limit.isLimited
            && request.headers.first("Range") == nil
    }

    package func setRateLimit(_ bytesPerSecond: Int64?) {
        limit.set(bytesPerSecond)
        for loop in allLoops { loop.rateLimitChanged() }
    }

    package func forgetConnections() {
        for loop in allLoops { loop.forgetConnections() }
    }

    /// Ends every exchange as cancelled, and waits for the threads. The receivers of exchanges must not wait for the
    /// caller of this method.
    package func shutdown() {
        for loop in loops + [sharingLoop] { loop.shutdown() }
        // These loops are not awaited, because a file system may block their threads. The process exits without waiting
        // for such a thread.
        for loop in placed.withLock({ $0.all }) { loop.shutdown(isAwaited: false) }
    }

    private var allLoops: [CurlLoop] { loops + [sharingLoop] + placed.withLock { $0.all } }
}
