import CNightshift
import Glibc
import NightshiftAPI

/// The state of one exchange on the loop's thread: libcurl's handle and the data for its callbacks.
final class CurlTransfer {
    let id: Int
    /// The request. Only ``CurlRequest/yields`` changes after ``prepare(_:)``.
    var request: CurlRequest
    let delegate: any CurlDelegate
    /// The loop to which the transfer belongs. It outlives its transfers.
    unowned let core: LoopCore
    /// The libcurl handle. It is valid as long as this object exists, so a freed handle cannot be used.
    let easy: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private var connections: ConnectionPool?
    private let socketMaker: SocketMaker

    /// A counter of the bytes received over a connection whose body may be left in its socket.
    private var ledger: SocketLedger?
    /// The number of bytes of this body that libcurl has not delivered yet.
    private var bodyRest: Int64 = 0
    /// The rest of the body that libcurl no longer handles. Nil while libcurl handles the body.
    private(set) var socketBody: CurlSocketBody?
    /// The number of missing bytes of a body whose length libcurl ignores. Nil for any other body.
    private var unheededRest: Int64?
    /// The number of body bytes received over a shared connection.
    private var receivedBytes: Int64 = 0

    private(set) var heads = HeadReader()
    /// A final head that libcurl may still answer with another request.
    private var pendingHead: CurlHead?
    /// The HTTP version of the final response. Nil before the head of that response.
    private var finalVersion: String?
    /// A check of how the TLS connection ends. It is set while a body arrives whose end is the end of the connection.
    private var closeNotify: CloseNotify?
    /// The offset of the next byte of the body to send.
    private var sendOffset: Int64 = 0
    /// The failure that a callback found. It replaces libcurl's own message.
    private var failure: (code: CURLcode, message: String, systemError: Int32)?

    /// Whether the delegate has paused the exchange.
    var isHeld = false
    /// Whether the exchange waits in the queue of the common limit.
    var isQueued = false
    /// The number of bytes that are left of the exchange's current turn under the common limit.
    var turnBytes = 0
    /// The pass of the loop in which the delegate last kept bytes in memory.
    var lastHeld = 0
    private var ownLimit: TokenBucket?
    /// How the exchange yields to other traffic now.
    var yielding = TransferYield()
    private var wakeTime = Double.infinity

    private var progress = Progress()
    private var progressTime: Double
    private var idleCheckTime = Double.infinity

    init(id: Int, request: CurlRequest, delegate: any CurlDelegate, core: LoopCore) {
        self.id = id
        self.request = request
        self.delegate = delegate
        self.core = core
        socketMaker = SocketMaker(core.sockets, unixSocket: request.unixSocket)
        progressTime = LoopCore.now()
        guard let easy = curl_easy_init() else { fatalError("libcurl has no memory for another exchange") }
        self.easy = easy
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        setLimit(request.rateLimit)
        if let period = idleCheckPeriod { idleCheckTime = progressTime + period }
    }

    /// Frees the handle. The transfer must be removed from the multi handle before it is released.
    deinit {
        // The handle is freed before the shared connections and the texts that the handle points to.
        curl_easy_cleanup(easy)
        curl_slist_free_all(headerList)
        errorText.deallocate()
    }

    /// Sets all options. Returns an end if the request cannot be made.
    func prepare(_ connections: ConnectionPool) -> CurlEnd? {
        if let flaw = request.flaw {
            return CurlEnd(
                code: Int32(CURLE_BAD_FUNCTION_ARGUMENT.rawValue), message: "The request cannot be sent: \(flaw).")
        }
        self.connections = connections
        var options = EasyOptions(easy)
        headerList = options.set(request, share: connections.share, errorText: errorText)
        setCallbacks(&options)
        guard let code = options.failed else { return nil }
        return CurlEnd(code: Int32(code.rawValue), message: String(cString: curl_easy_strerror(code)))
    }

    /// Closes the connection of a body that is moved without libcurl.
    func closeSocketBody() { socketBody = nil }

    private func setCallbacks(_ options: inout EasyOptions) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        options.set(CURLOPT_WRITEDATA, context)
        options.set(CURLOPT_HEADERDATA, context)
        options.set(CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            guard let bytes, let context else { return 0 }
            return Unmanaged<CurlTransfer>.fromOpaque(context)._withUnsafeGuaranteedRef {
                $0.receive(UnsafeRawBufferPointer(start: bytes, count: size * count))
            }
        }
        options.set(CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            guard let bytes, let context else { return 0 }
            return Unmanaged<CurlTransfer>.fromOpaque(context)._withUnsafeGuaranteedRef {
                $0.receive(headerLine: UnsafeRawBufferPointer(start: bytes, count: size * count))
            }
        }
        socketMaker.set(&options, idleSeconds: core.idleSeconds)
        // An exchange waits for a stream on a connection that is being opened, instead of opening another one.
        if core.sharesConnections { options.set(CURLOPT_PIPEWAIT, 1) }
        let mayLeaveBody = request.socketBodyBytes != nil && !request.isSecure
        if mayLeaveBody || request.unixPeerObjection != nil {
            options.set(CURLOPT_PREREQDATA, context)
            options.setBeforeRequest { context, _, _, peerPort, localPort in
                guard let context else { return CURL_PREREQFUNC_ABORT }
                return Unmanaged<CurlTransfer>.fromOpaque(context)._withUnsafeGuaranteedRef { transfer in
                    guard transfer.mayBeSent() else { return CURL_PREREQFUNC_ABORT }
                    transfer.openLedger(localPort: localPort, peerPort: peerPort)
                    return CURL_PREREQFUNC_OK
                }
            }
        }
        if request.tlsHook != nil {
            options.set(CURLOPT_SSL_CTX_DATA, context)
            options.setTLS { _, tls, context in
                guard let tls, let context else { return CURLE_ABORTED_BY_CALLBACK }
                return Unmanaged<CurlTransfer>.fromOpaque(context)._withUnsafeGuaranteedRef {
                    $0.request.tlsHook?.prepare(context: tls) == true ? CURLE_OK : CURLE_ABORTED_BY_CALLBACK
                }
            }
        }
        guard case .none = request.body else {
            options.set(CURLOPT_READDATA, context)
            options.set(CURLOPT_SEEKDATA, context)
            options.set(CURLOPT_READFUNCTION) { bytes, size, count, context in
                guard let bytes, let context else { return nightshift_curl_read_abort }
                return Unmanaged<CurlTransfer>.fromOpaque(context)._withUnsafeGuaranteedRef {
                    $0.send(into: UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
                }
            }
            options.setSeek { context, offset, origin in
                guard let context, origin == SEEK_SET else { return CURL_SEEKFUNC_CANTSEEK }
                return Unmanaged<CurlTransfer>.fromOpaque(context)._withUnsafeGuaranteedRef {
                    $0.rewind(to: Int64(offset))
                }
            }
            return
        }
    }

    // MARK: - Before the request

    /// Returns whether all connections that the request may use are acceptable. libcurl does not report which it chose.
    private func mayBeSent() -> Bool {
        guard let objection = request.unixPeerObjection else { return true }
        for socket in core.sockets.sockets(at: request.unixSocket ?? "") {
            guard let words = objection(socket) else { continue }
            failure = (CURLE_COULDNT_CONNECT, words, 0)
            return false
        }
        return true
    }

    // MARK: - Receiving

    private func receive(headerLine line: UnsafeRawBufferPointer) -> Int {
        ledger?.handOn(line.count)
        switch heads.read(line) {
        case .more:
            break
        case .tooLarge:
            failure = (CURLE_WEIRD_SERVER_REPLY, "The response's header fields are too many or too large.", 0)
            return 0
        case .head(let head) where head.unrequestedTransferCoding != nil:
            // libcurl would decode this body on this thread, which all exchanges share, without a size limit.
            failure = (
                CURLE_BAD_CONTENT_ENCODING,
                "The response has a transfer coding that was not requested: \(head.unrequestedTransferCoding ?? "").", 0
            )
            return 0
        case .head(let head) where (100...199).contains(head.status) && head.status != 101:
            delegate.received(interim: head)
        case .head(let head):
            pendingHead = head
            // libcurl may send another request after a challenge or a refused expectation. Other heads are final.
            if request.credential == nil, ![401, 407, 417].contains(head.status) { reportHead() }
            // Returning 0 is an error for libcurl. Otherwise libcurl would wait for the end of the connection.
            if unheededRest == 0 { return 0 }
        }
        return line.count
    }

    private func reportHead() {
        guard let head = pendingHead else { return }
        pendingHead = nil
        heads.isPastHead = true
        let framing = head.framing(for: request.method)
        finalVersion = head.version
        if let length = head.plainLength(for: request.method) { bodyRest = length } else { ledger = nil }
        if let length = framing.length { leaveSharedConnection(at: length) }
        if framing == .connection { watchForCloseNotify() }
        // libcurl 7.88 notices the end of a stream that came with its head only when it looks at the stream again.
        if head.version == "2", framing.length ?? 0 == 0 { core.scheduleAttention(at: LoopCore.now()) }
        unheededRest = head.ignoredLength(for: request.method)
        delegate.received(head: head)
        yieldIfWanted(sends: false)
    }

    private func watchForCloseNotify() {
        closeNotify = CloseNotify(easy)
        guard closeNotify != nil else { return }
        // libcurl reports progress once more after the end of a body and before the end of the connection.
        var options = EasyOptions(easy)
        options.set(CURLOPT_XFERINFODATA, Unmanaged.passUnretained(self).toOpaque())
        options.setProgress { context, _, _, _, _ in
            guard let context else { return 0 }
            Unmanaged<CurlTransfer>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.closeNotify?.update() }
            return 0
        }
        options.set(CURLOPT_NOPROGRESS, 0)
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
        if pendingHead != nil { reportHead() }
        if yielding.isStopped { return nightshift_curl_write_pause }
        let isLimited = isLimited
        if isLimited, !mayMove() { return nightshift_curl_write_pause }
        let piece = UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(clamping: unheededRest ?? .max)))
        let answer = delegate.received(body: piece)
        if answer == .held { core.holds(self) }
        switch answer {
        case .taken, .held:
            if isLimited { moved(piece.count) }
            if let rest = unheededRest {
                unheededRest = rest - Int64(piece.count)
                // Returning 0 is an error for libcurl, as below.
                if unheededRest == 0 { return 0 }
            }
            if core.sharesConnections {
                receivedBytes += Int64(bytes.count)
                leaveSharedConnection(at: receivedBytes)
            }
            // Returning 0 is an error for libcurl, which then closes its descriptor.
            return ledger != nil && takesOver(after: bytes.count) ? 0 : bytes.count
        case .pause:
            isHeld = true
            return nightshift_curl_write_pause
        case .stop:
            return 0
        }
    }

    /// Prevents other exchanges from using this connection if the body is large or has become large.
    private func leaveSharedConnection(at bytes: Int64) {
        guard core.sharesConnections, bytes > Self.sharedBytes, let connections else { return }
        core.retire(connections)
    }

    /// The maximum number of body bytes for which an exchange shares a connection.
    private static let sharedBytes: Int64 = 1 << 20

    // MARK: - Receiving without libcurl

    private func openLedger(localPort: Int32, peerPort: Int32) {
        guard request.socketBodyBytes != nil else { return }
        ledger = core.sockets.socket(localPort: localPort, peerPort: peerPort).flatMap { SocketLedger($0) }
    }

    /// Continues the rest of the body without libcurl, if possible. Returns whether this was possible.
    private func takesOver(after count: Int) -> Bool {
        ledger?.handOn(count)
        bodyRest -= Int64(count)
        guard let least = request.socketBodyBytes, bodyRest >= max(least, 1), delegate.takesRest(bodyRest),
            let isBalanced = ledger?.isBalanced()
        else {
            ledger = nil
            return false
        }
        guard isBalanced, let ledger, let pipe = core.bodyPipe() else { return false }
        socketBody = CurlSocketBody(of: ledger.socket, rest: bodyRest, through: pipe)
        return socketBody != nil
    }

    /// Whether the socket must be watched. It must be watched if neither this side nor a limit pauses the body.
    var awaitsSocket: Bool {
        socketBody != nil && !isHeld && !isQueued && !yielding.isStopped && wakeTime == .infinity
    }

    /// Moves the bytes that wait in the socket, up to one turn. Returns the exchange's end, or nil if it has not ended.
    func receiveFromSocket() -> CurlEnd? {
        guard let body = socketBody, !isHeld, !isQueued, !yielding.isStopped else { return nil }
        var allowance = Self.turnBytes
        while allowance > 0 {
            let isLimited = isLimited
            if isLimited, !mayMove() { return nil }
            let before = body.rest
            let answer = delegate.received(from: body, atMost: isLimited ? CommonLimit.pieceBytes : allowance)
            let count = Int(before - body.rest)
            if isLimited, count > 0 { moved(count) }
            allowance -= count
            switch answer {
            case .pause:
                isHeld = true
                return nil
            case .stop:
                return end(CURLE_WRITE_ERROR)
            case .taken where body.rest == 0, .held where body.rest == 0:
                return end(CURLE_OK)
            case .taken, .held:
                break
            }
            switch body.condition {
            case .open: break
            case .drained: return nil
            case .ended:
                failure = (CURLE_PARTIAL_FILE, "The connection was closed with \(body.rest) bytes missing.", 0)
                return end(CURLE_PARTIAL_FILE)
            case .failed(let error):
                failure = (CURLE_RECV_ERROR, "Receiving failed: \(String(cString: strerror(error)))", error)
                return end(CURLE_RECV_ERROR)
            }
        }
        return nil
    }

    /// The number of bytes after which the other exchanges have their turn.
    private static let turnBytes = 1 << 20

    // MARK: - Sending

    private func send(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var count = Int(min(Int64(buffer.count), request.body.size - sendOffset))
        guard count > 0 else { return 0 }
        if !yielding.isMember { yieldIfWanted(sends: true) }
        let isLimited = isLimited
        if isLimited {
            if !mayMove() { return nightshift_curl_read_pause }
            // Pieces are small, so that the server does not wait long for a piece when the rate limit is low.
            count = min(count, CommonLimit.pieceBytes, ownLimit?.piece ?? .max)
        }
        switch request.body {
        case .none:
            return 0
        case .bytes(let bytes):
            bytes.withUnsafeBytes { bytes in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[Int(sendOffset)...].prefix(count)))
            }
        case .pieces(let pieces):
            let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
            guard let read = pieces.read(at: sendOffset, into: room) else {
                let error = errno
                let reason = error == 0 ? "the file has become shorter" : String(cString: strerror(error))
                failure = (CURLE_READ_ERROR, "The rest of the file to send cannot be read: \(reason).", error)
                return nightshift_curl_read_abort
            }
            count = read
        }
        heads.moved()
        sendOffset += Int64(count)
        delegate.sent(sendOffset)
        if isLimited { moved(count) }
        return count
    }

    private func rewind(to offset: Int64) -> Int32 {
        guard (0...request.body.size).contains(offset) else { return CURL_SEEKFUNC_FAIL }
        // If a head has arrived, the server wants the body again, after a challenge or a refused expectation.
        guard request.mayRepeatBody || pendingHead != nil else { return CURL_SEEKFUNC_FAIL }
        sendOffset = offset
        delegate.sent(offset)
        return CURL_SEEKFUNC_OK
    }

    // MARK: - Limits

    func setLimit(_ rate: Int64?) {
        let now = LoopCore.now()
        ownLimit = rate.map { TokenBucket(bytesPerSecond: $0, now: now) }
        wakeTime = .infinity
    }

    private var isLimited: Bool { ownLimit != nil || yielding.limit != nil || core.isLimited }

    private func mayMove() -> Bool {
        let now = LoopCore.now()
        let delay = max(ownLimit?.delay(now: now) ?? 0, yielding.limit?.delay(now: now) ?? 0)
        if delay > 0 {
            wakeTime = now + max(delay, CommonLimit.shortestPause)
            core.scheduleAttention(at: wakeTime)
            return false
        }
        return core.admits(self, now: now)
    }

    private func moved(_ count: Int) {
        ownLimit?.take(count, now: LoopCore.now())
        yielding.limit?.take(count, now: LoopCore.now())
        core.countBytes(count, of: self)
    }

    /// Whether the exchange is paused because its own limit or the common limit is used up.
    var waitsForLimit: Bool { isQueued || wakeTime < .infinity }

    func wakes(_ now: Double) -> Bool { wakeTime <= now }

    /// Continues in both directions, or pauses again if another reason to pause remains. Returns the exchange's end.
    func unpause() -> CurlEnd? {
        wakeTime = .infinity
        if socketBody != nil { return receiveFromSocket() }
        let code = curl_easy_pause(easy, CURLPAUSE_CONT)
        return code == CURLE_OK || socketBody != nil ? nil : end(code)
    }

    // MARK: - Idle time

    /// The time at which this transfer needs attention next.
    var nextAttention: Double { min(wakeTime, idleCheckTime) }

    /// The interval at which progress is sampled: a quarter of the idle timeout. Sampling adds no cost per byte.
    private var idleCheckPeriod: Double? { request.idleTimeout.map { max($0, 0.1) / 4 } }

    /// Returns the end of an exchange that has made no progress for too long.
    func idleEnd(_ now: Double) -> CurlEnd? {
        guard let timeout = request.idleTimeout, let period = idleCheckPeriod, now >= idleCheckTime else { return nil }
        idleCheckTime = now + period
        let present = socketBody.map { Progress(missing: $0.rest) } ?? Progress(easy)
        if isHeld || isQueued || yielding.isStopped || wakeTime < .infinity || present != progress {
            progress = present
            progressTime = now
        }
        if present.received > Self.maximumUnseenBytes, pendingHead != nil {
            failure = (CURLE_WEIRD_SERVER_REPLY, "The response that asks for a credential is too large.", 0)
            return end(CURLE_WEIRD_SERVER_REPLY)
        }
        guard now - progressTime >= timeout else { return nil }
        failure = (CURLE_OPERATION_TIMEDOUT, "No data was transferred for \(Int(saturating: timeout.rounded())) s.", 0)
        return end(CURLE_OPERATION_TIMEDOUT)
    }

    /// The maximum body size of a response with a challenge. libcurl reads and discards that body.
    private static let maximumUnseenBytes: Int64 = 16 << 20

    // MARK: - The end

    func end(_ code: CURLcode) -> CurlEnd {
        if code == CURLE_OK, closeNotify?.isMissing == true {
            failure = (CURLE_PARTIAL_FILE, "The TLS connection was cut before the end of the body.", 0)
        }
        var code = failure?.code ?? code
        let phase = phase
        // In this case, this side ended the exchange because the response was complete.
        if unheededRest == 0, failure == nil, code == CURLE_WRITE_ERROR { code = CURLE_OK }
        if code == CURLE_OK { reportHead() }
        if code == CURLE_OK, let rest = unheededRest, rest > 0 {
            code = CURLE_PARTIAL_FILE
            failure = (code, "The connection was closed with \(rest) bytes missing.", 0)
        }
        var end = CurlEnd(
            code: Int32(code.rawValue), message: failure?.message ?? CurlEnd.words(errorText, code),
            systemError: failure?.systemError ?? socketMaker.systemError(of: easy, at: code), phase: phase,
            refusedTunnel: code == CURLE_OK ? nil : refusedTunnel)
        end.proxyRefused = code != CURLE_OK && proxyRefused
        end.wantsHTTP1 = wantsHTTP1(code)
        if code == CURLE_PEER_FAILED_VERIFICATION {
            end.verification = Int(Progress.long(easy, CURLINFO_SSL_VERIFYRESULT))
            end.proxyVerification = Int(Progress.long(easy, CURLINFO_PROXY_SSL_VERIFYRESULT))
        }
        return end
    }

    /// Returns the value of ``CurlEnd/wantsHTTP1``. After the reset of a stream, libcurl falls back to HTTP/1.1 and does
    /// not report it. If the server closes the connection instead, libcurl only reports a framing error.
    private func wantsHTTP1(_ code: CURLcode) -> Bool {
        guard !request.usesHTTP1, request.isSecure else { return false }
        if code == CURLE_HTTP2 { return !heads.isPastHead }
        return code == CURLE_OK && finalVersion == "1.1" && request.credential == nil
            && Progress.long(easy, CURLINFO_NUM_CONNECTS) > 1
    }

    private var phase: CurlPhase {
        if heads.isPastHead { return .receiving }
        if Progress.offset(easy, CURLINFO_PRETRANSFER_TIME_T) > 0 {
            return sendOffset < request.body.size ? .sending : .waitingForResponse
        }
        if Progress.long(easy, CURLINFO_LOCAL_PORT) > 0 { return .securing }
        return Progress.offset(easy, CURLINFO_NAMELOOKUP_TIME_T) > 0 ? .connecting : .resolving
    }
}
