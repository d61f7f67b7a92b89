/// A choice of the loop, and so of the thread, that moves the bytes of an exchange.
///
/// TLS uses so much CPU time that one core is not enough for several fast connections. Unencrypted exchanges stay on
/// the first thread, which is faster than networks are. Exchanges that yield to other traffic share one loop, because
/// those of one route have to be controlled together. Each loop has its own connections, so of the least busy loops,
/// one that the origin used before is preferred. Successive requests for small files use one common loop, on which they
/// share connections.
struct LoopPlacement {
    /// The number of exchanges in progress on each loop.
    private var running: [Int]
    /// The origins to which each loop may still have connections, with the most recent origin last.
    private(set) var origins: [[String]]
    private var habits = OriginHabits()

    /// The number of origins that are remembered for each loop. A connection to a forgotten origin costs a new
    /// handshake.
    static let maximumOrigins = 64

    /// The index that stands for the loop on which connections are shared.
    static let sharing = -1

    init(loops: Int) {
        running = Array(repeating: 0, count: loops)
        origins = Array(repeating: [], count: loops)
    }

    /// The properties of an exchange that are known before it begins.
    struct Request: Sendable {
        var origin: String
        var isSecure: Bool
        /// Whether the response may share a connection. This requires that the request sends no body, and that nothing
        /// is expected to delay the response.
        var mayShare: Bool
        /// Whether the exchange yields to other traffic.
        var yields = false
    }

    /// Returns the index of the loop for a new exchange, or ``sharing``. Each call needs a matching
    /// ``end(_:on:bytes:)``.
    mutating func begin(_ request: Request) -> Int {
        guard request.isSecure else { return assign(0) }
        if request.mayShare, habits.sendsSmallFiles(request.origin), !habits.wantsHTTP1(request.origin) {
            return Self.sharing
        }
        let loop = request.yields ? running.count - 1 : freest(for: request.origin)
        remember(request.origin, on: loop)
        return assign(loop)
    }

    /// Records the end of an exchange.
    ///
    /// - Parameter bytes: The size of the body if the response arrived over HTTP/2, or else nil.
    mutating func end(_ request: Request, on loop: Int, bytes: Int64?) {
        if loop != Self.sharing { running[loop] -= 1 }
        if request.isSecure, let bytes { habits.record(request.origin, bytes: bytes) }
    }

    /// Returns whether the origin requires HTTP/1.1.
    func wantsHTTP1(_ origin: String) -> Bool { habits.wantsHTTP1(origin) }

    /// Records that the origin requires HTTP/1.1.
    mutating func recordHTTP1(_ origin: String) { habits.recordHTTP1(origin) }

    private mutating func assign(_ loop: Int) -> Int {
        running[loop] += 1
        return loop
    }

    private func freest(for origin: String) -> Int {
        let least = running.min() ?? 0
        let free = running.indices.filter { running[$0] == least }
        return free.first { origins[$0].contains(origin) } ?? free[0]
    }

    private mutating func remember(_ origin: String, on loop: Int) {
        origins[loop].removeAll { $0 == origin }
        if origins[loop].count >= Self.maximumOrigins { origins[loop].removeFirst() }
        origins[loop].append(origin)
    }
}
