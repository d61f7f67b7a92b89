import CNightshift
import Glibc
import NightshiftAPI

/// The state of the loop's thread. It is used only on that thread.
final class LoopCore {
    private let loop: CurlLoop
    private let multi: Multi
    private var transfers: [Int: CurlTransfer] = [:]
    private var transfersByHandle: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    private var connections = ConnectionPools()
    private var channels = ChannelTable()
    /// The transfers whose bodies are moved without libcurl.
    private var socketTransfers: [CurlTransfer] = []
    private let yieldRoutes = YieldRoutes()
    /// The transfers whose delegates hold bytes in memory.
    private var holders: [CurlTransfer] = []
    /// The number of passes so far.
    private var pass = 0
    private var pipe: BodyPipe?
    private var watched: [curl_waitfd] = []
    private var isStopping = false
    /// The time at which the next transfer needs attention, regardless of network events.
    private var nextAttention = Double.infinity
    /// The time at which unused connections are closed.
    private var idleEnd = Double.infinity

    /// The maximum number of shared connections to one host. Each connection usually has 100 streams. Without a
    /// maximum, libcurl would open a connection for each exchange that finds no free stream on the first connection.
    private static let sharedConnections = 8
    /// The maximum number of idle connections that are kept for reuse. It is enough for the next tasks of a few hosts.
    private static let mostIdle = 16
    init(loop: CurlLoop, multi: Multi) {
        self.loop = loop
        self.multi = multi
        multi.sockets.willClose = { [yieldRoutes] in yieldRoutes.remove(socket: $0) }
        boundIdleConnections()
        let sharing = loop.sharesConnections ? Int(CURLPIPE_MULTIPLEX) : CURLPIPE_NOTHING
        _ = nightshift_curl_multi_set_long(multi.handle, CURLMOPT_PIPELINING, sharing)
        if loop.sharesConnections {
            _ = nightshift_curl_multi_set_long(multi.handle, CURLMOPT_MAX_HOST_CONNECTIONS, Self.sharedConnections)
        }
    }

    var sockets: Sockets { multi.sockets }
    var sharesConnections: Bool { loop.sharesConnections }
    var idleSeconds: Int { loop.idleSeconds }

    /// Removes a pool from use by new exchanges.
    func retire(_ pool: ConnectionPool) {
        connections.retire(pool)
    }

    /// Returns the time of a monotonic clock in seconds.
    static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    func run() {
        while let (commands, isStopping) = loop.takeCommands(isIdle: transfers.isEmpty && channels.isEmpty) {
            self.isStopping = isStopping
            for command in commands { execute(command) }
            if isStopping {
                for transfer in Array(transfers.values) { end(transfer, .cancelled) }
                for id in channels.ids { endChannel(id, .cancelled) }
                continue
            }
            attendToTransfers()
            closeIdleConnections()
            performTransfers()
            settle { $0.lastHeld < pass }
            waitForTheNetwork()
        }
        connections = ConnectionPools()
    }

    // MARK: - Commands

    private func execute(_ command: CurlLoop.Command) {
        switch command {
        case .begin(let id, let request, let delegate):
            begin(CurlTransfer(id: id, request: request, delegate: delegate, core: self))
        case .cancel(let id):
            if let transfer = transfers[id] { end(transfer, .cancelled) }
        case .resume(let id):
            if let transfer = transfers[id], transfer.isHeld {
                transfer.isHeld = false
                unpause(transfer)
            }
        case .limit(let id, let rate):
            if let transfer = transfers[id] {
                // libcurl reports an error for this call if there is no connection yet.
                let waits = transfer.waitsForLimit
                transfer.setLimit(rate)
                if waits { unpause(transfer) }
            }
        case .yield(let id, let yields):
            if let transfer = transfers[id], transfer.setYield(yields) { unpause(transfer) }
        case .limitChanged:
            limitChanged()
        case .turn(let id, let bytes):
            takeTurn(id, bytes)
        case .forgetConnections:
            connections = ConnectionPools()
        case .channel(let id, let command):
            execute(command, ofChannel: id)
        case .perform(let work):
            work()
        }
    }

    private func begin(_ transfer: CurlTransfer) {
        if isStopping { return transfer.delegate.ended(.cancelled) }
        let pool = connections.pool(for: transfer.request.tlsHook?.connectionGroup)
        if let end = transfer.prepare(pool) { return transfer.delegate.ended(end) }
        let result = curl_multi_add_handle(multi.handle, transfer.easy)
        guard result == CURLM_OK else {
            let message = String(cString: curl_multi_strerror(result))
            return transfer.delegate.ended(CurlEnd(code: Int32(CURLE_FAILED_INIT.rawValue), message: message))
        }
        transfers[transfer.id] = transfer
        transfersByHandle[transfer.easy] = transfer
        idleEnd = .infinity
        boundIdleConnections()
        scheduleAttention(at: transfer.nextAttention)
    }

    // MARK: - The network

    private var pollMilliseconds: Int32 {
        let next = min(nextAttention, idleEnd)
        guard next < .infinity else { return .max }
        // The timeout is rounded up. If the thread woke just before the time, it would have to wake a second time.
        return Int32(saturating: min(max((next - Self.now()) * 1000, 0).rounded(.up), 1e9))
    }

    private func performTransfers() {
        pass += 1
        var running: Int32 = 0
        curl_multi_perform(multi.handle, &running)
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi.handle, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            guard let transfer = transfersByHandle[easy] else {
                channelConnected(easy, message.pointee.data.result)
                continue
            }
            if transfer.socketBody == nil {
                end(transfer, transfer.end(message.pointee.data.result))
            } else {
                takeFromLibcurl(transfer)
            }
        }
    }

    /// Removes the transfer from libcurl, which closes its own descriptor, and continues the body without libcurl.
    private func takeFromLibcurl(_ transfer: CurlTransfer) {
        guard !socketTransfers.contains(where: { $0 === transfer }) else { return }
        curl_multi_remove_handle(multi.handle, transfer.easy)
        socketTransfers.append(transfer)
    }

    private func waitForTheNetwork() {
        guard holders.isEmpty || !channels.isEmpty || !socketTransfers.isEmpty else {
            // What arrived meanwhile is written together with the bytes that are in memory. Commands may have arrived
            // instead, so the thread does not wait here.
            var ready: Int32 = 0
            curl_multi_poll(multi.handle, nil, 0, 0, &ready)
            if ready == 0 { settle { _ in true } }
            return
        }
        settle { _ in true }
        guard !socketTransfers.isEmpty || !channels.isEmpty else {
            curl_multi_poll(multi.handle, nil, 0, pollMilliseconds, nil)
            return
        }
        let waiting = socketTransfers.filter(\.awaitsSocket)
        watched.removeAll(keepingCapacity: true)
        for transfer in waiting {
            let socket = transfer.socketBody?.socket ?? -1
            watched.append(curl_waitfd(fd: socket, events: Int16(CURL_WAIT_POLLIN), revents: 0))
        }
        watched += channels.watched
        curl_multi_poll(multi.handle, &watched, UInt32(watched.count), pollMilliseconds, nil)
        for id in channels.ids {
            if let end = channels.channel(id)?.progress() { endChannel(id, end) }
        }
        for (transfer, entry) in zip(waiting, watched) where entry.revents != 0 {
            if let end = transfer.receiveFromSocket() { self.end(transfer, end) }
        }
    }

    /// Limits the number of idle connections. libcurl's maximum counts all connections, including those in use. libcurl
    /// applies the maximum when an exchange ends, and that exchange is still counted here.
    private func boundIdleConnections() {
        let most = max(transfers.count, 1) - 1 + Self.mostIdle
        _ = nightshift_curl_multi_set_long(multi.handle, CURLMOPT_MAXCONNECTS, most)
    }

    private func closeIdleConnections() {
        guard Self.now() >= idleEnd else { return }
        idleEnd = .infinity
        connections = ConnectionPools()
    }

    // MARK: - Bytes in memory

    /// Records that the delegate of a transfer holds bytes in memory.
    func holds(_ transfer: CurlTransfer) {
        transfer.lastHeld = pass
        if !holders.contains(where: { $0 === transfer }) { holders.append(transfer) }
    }

    /// Lets the delegates of some transfers write the bytes that they hold in memory.
    private func settle(_ isQuiet: (CurlTransfer) -> Bool) {
        for transfer in holders where isQuiet(transfer) {
            holders.removeAll { $0 === transfer }
            if transfer.delegate.settle() == .stop { end(transfer, transfer.end(CURLE_WRITE_ERROR)) }
        }
    }

    /// Returns the pipe that moves bytes from sockets to files, or nil if there are no descriptors for a pipe.
    func bodyPipe() -> BodyPipe? {
        pipe = pipe ?? BodyPipe()
        return pipe
    }

    private func end(_ transfer: CurlTransfer, _ end: CurlEnd) {
        guard transfers.removeValue(forKey: transfer.id) != nil else { return }
        transfersByHandle[transfer.easy] = nil
        loop.limit.leave(ticket(transfer), isQueued: transfer.isQueued, unused: transfer.turnBytes)
        leaveRoute(transfer)
        // If no transfer is left, the wake-ups planned for the last transfer are dropped.
        if transfers.isEmpty {
            nextAttention = .infinity
            idleEnd = Self.now() + Double(loop.idleSeconds)
        }
        boundIdleConnections()
        curl_multi_remove_handle(multi.handle, transfer.easy)
        socketTransfers.removeAll { $0 === transfer }
        holders.removeAll { $0 === transfer }
        // This frees the pipe's buffer of one megabyte when the pipe is not used.
        if socketTransfers.isEmpty { pipe = nil }
        transfer.closeSocketBody()
        transfer.delegate.ended(end)
    }

    // MARK: - Channels

    private func execute(_ command: CurlChannel.Command, ofChannel id: Int) {
        var end: CurlEnd?
        switch command {
        case .open(let request, let delegate): open(ChannelCore(request, delegate: delegate, sockets: sockets), id)
        case .send(let bytes): end = channels.channel(id)?.send(bytes)
        case .resume: end = channels.channel(id)?.resume()
        // Bytes that were queued earlier have already been sent, as far as the socket accepts them.
        case .close: end = .cancelled
        }
        if let end { endChannel(id, end) }
    }

    private func open(_ channel: ChannelCore, _ id: Int) {
        var end = isStopping ? .cancelled : channel.prepare()
        if end == nil {
            let result = curl_multi_add_handle(multi.handle, channel.easy)
            if result != CURLM_OK {
                let message = String(cString: curl_multi_strerror(result))
                end = CurlEnd(code: Int32(CURLE_FAILED_INIT.rawValue), message: message)
            }
        }
        guard let end else { return channels.insert(channel, id: id) }
        channel.free()
        channel.delegate.ended(end)
    }

    private func channelConnected(_ easy: UnsafeMutableRawPointer, _ code: CURLcode) {
        guard let id = channels.id(of: easy), let channel = channels.channel(id) else { return }
        if let end = channel.connected(code) { endChannel(id, end) }
    }

    private func endChannel(_ id: Int, _ end: CurlEnd) {
        guard let channel = channels.remove(id) else { return }
        curl_multi_remove_handle(multi.handle, channel.easy)
        channel.free()
        channel.delegate.ended(end)
    }

    // MARK: - Time

    func scheduleAttention(at time: Double) {
        nextAttention = min(nextAttention, time)
    }

    private func attendToTransfers() {
        guard nextAttention < .infinity else { return }
        let now = Self.now()
        guard now >= nextAttention else { return }
        nextAttention = .infinity
        for transfer in yieldRoutes.measure(now: now) where transfers[transfer.id] != nil { unpause(transfer) }
        scheduleAttention(at: yieldRoutes.nextMeasurement)
        if transfers.values.contains(where: \.isQueued), let next = loop.limit.giveTurns(now: now) {
            scheduleAttention(at: next)
        }
        for transfer in Array(transfers.values) {
            if transfer.wakes(now) { unpause(transfer) }
            // The call above may have ended the transfer, which is then skipped.
            guard transfers[transfer.id] != nil else { continue }
            if let end = transfer.idleEnd(now) {
                self.end(transfer, end)
            } else {
                scheduleAttention(at: transfer.nextAttention)
            }
        }
    }

    /// Unpauses a transfer. During this call, the delegate receives the bytes that were held back, and may refuse them
    /// again.
    private func unpause(_ transfer: CurlTransfer) {
        if let end = transfer.unpause() {
            self.end(transfer, end)
        } else if transfer.socketBody != nil {
            takeFromLibcurl(transfer)
        }
    }

    // MARK: - Other traffic

    /// Lets the body of a transfer yield to other traffic together with the others of its route.
    func joinRoute(_ transfer: CurlTransfer, sends: Bool) {
        yieldRoutes.add(transfer, sends: sends, now: Self.now())
        scheduleAttention(at: yieldRoutes.nextMeasurement)
    }

    func leaveRoute(_ transfer: CurlTransfer) {
        yieldRoutes.remove(transfer)
    }

    // MARK: - The common rate limit

    /// Returns whether `transfer` may move bytes now. If not, this method has queued the transfer, which must pause.
    func admits(_ transfer: CurlTransfer, now: Double) -> Bool {
        guard loop.limit.isLimited, transfer.turnBytes <= 0 else { return true }
        if !transfer.isQueued {
            transfer.isQueued = true
            scheduleAttention(at: loop.limit.wait(ticket(transfer), now: now))
        }
        return false
    }

    /// Whether a common limit is set, so that bytes must be counted.
    var isLimited: Bool { loop.limit.isLimited }

    func countBytes(_ count: Int, of transfer: CurlTransfer) {
        if loop.limit.isLimited { transfer.turnBytes -= count }
    }

    private func takeTurn(_ id: Int, _ bytes: Int) {
        guard let transfer = transfers[id], transfer.isQueued else {
            return loop.limit.leave(CommonLimit.Ticket(loop: loop, id: id), isQueued: false, unused: bytes)
        }
        transfer.turnBytes += bytes
        transfer.isQueued = false
        unpause(transfer)
    }

    /// Discards all turns and the queue. Exchanges that still have to wait are queued again.
    private func limitChanged() {
        for transfer in Array(transfers.values) {
            transfer.turnBytes = 0
            guard transfer.isQueued else { continue }
            loop.limit.leave(ticket(transfer), isQueued: true, unused: 0)
            transfer.isQueued = false
            unpause(transfer)
        }
    }

    private func ticket(_ transfer: CurlTransfer) -> CommonLimit.Ticket {
        CommonLimit.Ticket(loop: loop, id: transfer.id)
    }
}

extension CurlEnd {
    static let cancelled = CurlEnd(
        code: Int32(CURLE_ABORTED_BY_CALLBACK.rawValue), message: "The exchange was cancelled.", wasCancelled: true)
}
