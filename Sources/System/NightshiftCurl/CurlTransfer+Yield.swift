import CNightshift
import NightshiftAPI

/// How an exchange yields to other traffic now. It changes with each measurement of the exchange's route.
struct TransferYield {
    /// The connection while libcurl sends or receives the body; nil if it is not known.
    var socket: Int32?
    /// A limit of the rate, if the window alone would be too large.
    var limit: TokenBucket?
    /// Whether the exchange is one of those that its route controls.
    var isMember = false
    /// Whether the exchange waits because others of its route have their turn.
    var isStopped = false
}

extension CurlTransfer {
    /// The connection of the body; nil if it is not known.
    var yieldSocket: Int32? { socketBody?.socket ?? yielding.socket }

    /// Changes whether the exchange yields to other traffic.
    ///
    /// - Returns: Whether the exchange was limited, and must be continued.
    func setYield(_ yields: CurlYield?) -> Bool {
        let wasLimited = yielding.isStopped || yielding.limit != nil
        core.leaveRoute(self)
        request.yields = yields
        if heads.isPastHead { yieldIfWanted(sends: false) }
        return wasLimited
    }

    /// Lets the body of the request or of the response yield to other traffic from now on, if the request wants that.
    func yieldIfWanted(sends: Bool) {
        guard request.yields != nil, request.unixSocket == nil else { return }
        core.leaveRoute(self)
        yielding.socket = core.sockets.socket(
            localPort: Int32(Progress.long(easy, CURLINFO_LOCAL_PORT)),
            peerPort: Int32(Progress.long(easy, CURLINFO_PRIMARY_PORT)))
        core.joinRoute(self, sends: sends)
    }

    /// Sets how the exchange yields now.
    ///
    /// - Parameter pace: The largest rate in bytes per second.
    /// - Returns: Whether the exchange waited for its turn or for a limit that is lifted, and must be continued.
    @discardableResult
    func setYieldLimit(isStopped: Bool, pace: Double?) -> Bool {
        let wasLimited = yielding.isStopped || yielding.limit != nil && pace == nil
        let now = LoopCore.now()
        if let pace, yielding.limit != nil {
            yielding.limit?.setRate(pace, now: now)
        } else {
            yielding.limit = pace.map { TokenBucket(bytesPerSecond: Int64(saturating: $0), now: now) }
        }
        yielding.isStopped = isStopped
        return wasLimited && !isStopped
    }
}
