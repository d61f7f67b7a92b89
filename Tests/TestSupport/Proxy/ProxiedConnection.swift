import Glibc

/// One connection through a ``ChaosProxy``: a loop over both sockets and the bytes in transit between them.
struct ProxiedConnection {
    let core: ProxyCore
    let id: Int
    let client: Socket
    let wakeup: Wakeup
    private var up = Direction()
    private var down = Direction()

    /// The bytes in transit in one direction.
    private struct Direction {
        var pieces: [(due: ContinuousClock.Instant, bytes: [UInt8])] = []
        var queuedBytes = 0
        /// The bytes received from the sender since the connection began.
        var receivedBytes: Int64 = 0
        /// Whether the sender has finished. The receiver is notified once all bytes have arrived.
        var hasEnded = false
        var hasPassedEnd = false
    }

    /// The largest number of bytes in transit, like the buffers of a real route.
    private static let capacity = 1 << 20

    init(core: ProxyCore, id: Int, client: Socket, wakeup: Wakeup) {
        self.core = core
        self.id = id
        self.client = client
        self.wakeup = wakeup
    }

    mutating func run() {
        // While no byte passes, the proxy does not connect to the server either.
        guard let server = connect() else { return finish(client, nil, .reset) }
        finish(client, server, relay(server))
    }

    private func finish(_ client: Socket, _ server: Socket?, _ verdict: ProxyCore.Verdict) {
        for socket in [client, server].compactMap({ $0 }) {
            if verdict == .reset { socket.reset() } else { socket.close() }
        }
    }

    private func connect() -> Socket? {
        while true {
            let (verdict, isBlackHole) = core.state.read { ($0.open[id]?.verdict, $0.conditions.isBlackHole) }
            if verdict != nil { return nil }
            guard isBlackHole else { return try? Socket.connected(to: core.host, port: core.upstream) }
            var entries = [pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0)]
            poll(&entries, 1, -1)
            wakeup.clear()
        }
    }

    private mutating func relay(_ server: Socket) -> ProxyCore.Verdict {
        while true {
            let (link, conditions) = core.state.read { ($0.open[id], $0.conditions) }
            if let verdict = link?.verdict { return verdict }
            if up.hasPassedEnd && down.hasPassedEnd { return .close }

            // Both steps use one reading of the time, so that bytes that are due are either polled for or waited for.
            let now = ContinuousClock.now
            var entries = [pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0)]
            if !conditions.isBlackHole {
                entries.append(
                    pollfd(fd: client.descriptor, events: events(receiving: up, sending: down, now), revents: 0))
                entries.append(
                    pollfd(fd: server.descriptor, events: events(receiving: down, sending: up, now), revents: 0))
            }
            // An entry without events would report a hang-up again and again.
            for index in entries.indices.dropFirst() where entries[index].events == 0 { entries[index].fd = -1 }
            let timeout = conditions.isBlackHole ? -1 : millisecondsToNextDue(now)
            guard poll(&entries, nfds_t(entries.count), timeout) >= 0 || errno == EINTR else { return .close }
            if entries[0].revents != 0 { wakeup.clear() }
            guard entries.count == 3 else { continue }

            let readable = Int16(POLLIN | POLLHUP | POLLERR)
            if entries[1].revents & readable != 0, let verdict = receive(client, &up, conditions, 0) { return verdict }
            if entries[2].revents & readable != 0, let verdict = receive(server, &down, conditions, 1) {
                return verdict
            }
            if !deliver(&up, to: server) || !deliver(&down, to: client) { return .reset }
        }
    }

    private func events(receiving: Direction, sending: Direction, _ now: ContinuousClock.Instant) -> Int16 {
        var events: Int32 = 0
        if !receiving.hasEnded && receiving.queuedBytes < Self.capacity { events |= POLLIN }
        if let first = sending.pieces.first, first.due <= now { events |= POLLOUT }
        return Int16(events)
    }

    private func millisecondsToNextDue(_ now: ContinuousClock.Instant) -> Int32 {
        let dues = [up.pieces.first?.due, down.pieces.first?.due].compactMap { $0 }.filter { $0 > now }
        guard let next = dues.min() else { return -1 }
        let wait = now.duration(to: next).components
        return Int32(clamping: wait.seconds * 1000 + wait.attoseconds / 1_000_000_000_000_000 + 1)
    }

    /// Reads the bytes that have arrived. If the connection ends now, the function returns how.
    private func receive(
        _ socket: Socket, _ direction: inout Direction, _ conditions: ChaosProxy.Conditions, _ index: Int
    ) -> ProxyCore.Verdict? {
        guard !direction.hasEnded, direction.queuedBytes < Self.capacity else { return nil }
        // With a bandwidth limit, small pieces spread the bytes over time.
        let own = conditions.bytesPerSecond(of: id)
        let lowest = [conditions.bytesPerSecond, own].compactMap(\.self).min()
        let room = lowest.map { Int(clamping: min(max($0 / 100, 512), 64 << 10)) } ?? 64 << 10
        var failed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            let received = recv(socket.descriptor, buffer.baseAddress, room, Int32(MSG_DONTWAIT))
            count = max(received, 0)
            failed = received < 0 && errno != EAGAIN && errno != EINTR
            direction.hasEnded = received == 0
        }
        if failed { return .reset }
        guard !bytes.isEmpty else { return nil }
        let count = Int64(bytes.count)
        direction.receivedBytes += count
        let (due, isOver, cutsWithReset) = core.state.update { state -> (ContinuousClock.Instant, Bool, Bool) in
            let left = state.open[id]?.bytesLeft.map { $0 - count }
            state.open[id]?.bytesLeft = left
            if index == 0 { state.totals.bytesUp += count } else { state.totals.bytesDown += count }
            var due = ContinuousClock.now
            if let rate = conditions.bytesPerSecond {
                due = max(due, state.nextFree[index]) + .seconds(1) * (Double(count) / Double(rate))
                state.nextFree[index] = due
            }
            if let own, let free = state.open[id]?.nextFree[index] {
                let ownDue = max(.now, free) + .seconds(1) * (Double(count) / Double(own))
                state.open[id]?.nextFree[index] = ownDue
                due = max(due, ownDue)
            }
            let isOver = left.map { $0 < 0 } ?? false
            if isOver { state.totals.cuts += 1 }
            return (due + conditions.latency, isOver, isOver && Bool.random(using: &state.random))
        }
        if isOver {
            let heldBack = Int64(down.queuedBytes) + (index == 1 ? count : 0)
            let received = index == 1 ? direction.receivedBytes : down.receivedBytes
            let cutOff = min(heldBack + client.bytesUnread(on: core.host), received)
            core.state.update { $0.totals.bytesCutOff += cutOff }
            return cutsWithReset ? .reset : .close
        }
        direction.queuedBytes += bytes.count
        direction.pieces.append((due, bytes))
        return nil
    }

    /// Forwards the bytes that are due. Returns false if the receiver is gone.
    private func deliver(_ direction: inout Direction, to socket: Socket) -> Bool {
        while let first = direction.pieces.first, first.due <= .now {
            let sent = first.bytes.withUnsafeBytes {
                send(socket.descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
            }
            if sent < 0 { return errno == EAGAIN || errno == EINTR }
            direction.queuedBytes -= sent
            if sent == first.bytes.count {
                direction.pieces.removeFirst()
            } else {
                direction.pieces[0].bytes.removeFirst(sent)
            }
        }
        if direction.hasEnded && direction.pieces.isEmpty && !direction.hasPassedEnd {
            direction.hasPassedEnd = true
            _ = shutdown(socket.descriptor, Int32(SHUT_WR))
        }
        return true
    }
}
