/// Which loop, and so which thread, carries an exchange.
///
/// TLS is work: one core's is not enough for several fast connections. What is not encrypted stays on the first thread, which
/// moves more than networks bring. Connections are each loop's own, so an origin goes back to where it was before.
struct LoopPlacement {
    /// Exchanges that each loop carries now.
    private var running: [Int]
    /// Whose connections each loop may still have, the latest last.
    private(set) var origins: [[String]]

    /// Origins remembered for each loop; a forgotten one costs a handshake.
    static let maximumOrigins = 64

    init(loops: Int) {
        running = Array(repeating: 0, count: loops)
        origins = Array(repeating: [], count: loops)
    }

    /// The loop for one exchange more; each is to be told of its ``end(on:)``.
    mutating func begin(origin: String, isSecure: Bool) -> Int {
        let loop = isSecure ? freest(for: origin) : 0
        running[loop] += 1
        if isSecure { remember(origin, on: loop) }
        return loop
    }

    mutating func end(on loop: Int) {
        running[loop] -= 1
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
