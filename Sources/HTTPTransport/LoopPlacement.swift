/// Which loop, and so which thread, carries an exchange.
///
/// TLS is work: one core's is not enough for several fast connections. What is not encrypted stays on the first thread, which
/// moves more than networks bring. Connections are each loop's own, so an origin goes back to where it was before. Requests
/// for one small file after the other have a loop on which they share connections.
struct LoopPlacement {
    /// Exchanges that each loop carries now.
    private var running: [Int]
    /// The origins to which each loop may still have connections, the latest last.
    private(set) var origins: [[String]]
    private var habits = OriginHabits()

    /// Origins remembered for each loop; a forgotten one costs a handshake.
    static let maximumOrigins = 64

    /// Stands for the loop on which connections are shared.
    static let sharing = -1

    init(loops: Int) {
        running = Array(repeating: 0, count: loops)
        origins = Array(repeating: [], count: loops)
    }

    /// The facts about an exchange that are known before it begins.
    struct Request: Sendable {
        var origin: String
        var isSecure: Bool
        /// Whether its response may share a connection: nothing is sent, and nobody will hold it up.
        var mayShare: Bool
    }

    /// The loop for one exchange more, or ``sharing``; each is to be told of its end.
    mutating func begin(_ request: Request) -> Int {
        guard request.isSecure else { return assign(0) }
        if request.mayShare, habits.sendsSmallFiles(request.origin), !habits.wantsHTTP1(request.origin) {
            return Self.sharing
        }
        let loop = freest(for: request.origin)
        remember(request.origin, on: loop)
        return assign(loop)
    }

    /// - Parameter bytes: of the body, where the response came over HTTP/2.
    mutating func end(_ request: Request, on loop: Int, bytes: Int64?) {
        if loop != Self.sharing { running[loop] -= 1 }
        if request.isSecure, let bytes { habits.record(request.origin, bytes: bytes) }
    }

    /// ``OriginHabits/wantsHTTP1(_:)``.
    func wantsHTTP1(_ origin: String) -> Bool { habits.wantsHTTP1(origin) }

    /// ``OriginHabits/recordHTTP1(_:)``.
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
