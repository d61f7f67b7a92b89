import CNightshift
import Glibc
import NightshiftAPI

/// The state of one ``CurlChannel`` on the loop's thread. It is used only on that thread.
///
/// libcurl makes the connection. libcurl's handle stays with the multi handle as long as the connection is needed,
/// because removing the handle would close the connection. The loop watches the connection's socket in addition to
/// libcurl's own sockets.
final class ChannelCore {
    let easy: UnsafeMutableRawPointer
    let delegate: any CurlChannelDelegate
    private let request: CurlChannelRequest
    /// A pool for this connection only, so that no other handle examines the connection for reuse.
    private let pool = ConnectionPool()
    private let socketMaker: SocketMaker
    private let errorText: UnsafeMutablePointer<CChar>
    private var socket: Int32?
    /// Whether the delegate has not yet accepted the bytes that it received.
    private var isPaused = false
    private var output: [[UInt8]] = []
    /// The number of bytes of the first queued piece that were sent.
    private var sent = 0
    private var waiting = 0
    private var buffer: [UInt8] = []

    init(_ request: CurlChannelRequest, delegate: any CurlChannelDelegate, sockets: Sockets) {
        guard let easy = curl_easy_init() else { fatalError("libcurl could not make a handle: no memory") }
        self.easy = easy
        self.request = request
        self.delegate = delegate
        socketMaker = SocketMaker(sockets)
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit { errorText.deallocate() }

    /// Sets up the handle. Returns the error if this fails, otherwise nil.
    func prepare() -> CurlEnd? {
        var options = EasyOptions(easy)
        options.set(CURLOPT_ERRORBUFFER, UnsafeMutableRawPointer(errorText))
        options.set(CURLOPT_SHARE, pool.share)
        options.set(CURLOPT_URL, request.url)
        options.set(CURLOPT_PROTOCOLS_STR, "https")
        options.set(CURLOPT_CONNECT_ONLY, 1)
        options.set(CURLOPT_SSL_ENABLE_ALPN, 0)
        options.set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2 | CURL_SSLVERSION_MAX_NONE)
        if let path = request.certificateAuthority {
            options.set(CURLOPT_CAINFO, path)
            options.setString(CURLOPT_CAPATH, nil)
        }
        options.setProxy(request.proxy)
        options.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        options.set(CURLOPT_NETRC, 0)
        options.set(CURLOPT_NOSIGNAL, 1)
        options.set(CURLOPT_NOPROGRESS, 1)
        options.set(CURLOPT_QUICK_EXIT, 1)
        options.set(CURLOPT_TCP_NODELAY, 1)
        let timeout = min(max(request.timeout, 0.001) * 1000, 1e9).rounded(.up)
        options.set(CURLOPT_CONNECTTIMEOUT_MS, Int(saturating: timeout))
        socketMaker.set(&options)
        return options.failed.map(end)
    }

    /// Frees the libcurl handle, which must have been removed from the multi handle.
    func free() { curl_easy_cleanup(easy) }

    /// Handles the end of libcurl's connection attempt.
    ///
    /// - Returns: The end of the channel if the attempt failed, otherwise nil.
    func connected(_ code: CURLcode) -> CurlEnd? {
        guard code == CURLE_OK else { return end(code) }
        var socket = CURL_SOCKET_BAD
        let result = nightshift_curl_get_socket(easy, CURLINFO_ACTIVESOCKET, &socket)
        guard result == CURLE_OK, socket != CURL_SOCKET_BAD else { return end(CURLE_COULDNT_CONNECT) }
        self.socket = socket
        buffer = [UInt8](repeating: 0, count: CurlChannel.pieceBytes)
        delegate.opened()
        return progress()
    }

    // MARK: - Bytes

    func send(_ bytes: [UInt8]) -> CurlEnd? {
        guard !bytes.isEmpty else { return nil }
        guard waiting + bytes.count <= CurlChannel.outputLimit else {
            return CurlEnd(
                code: Int32(CURLE_SEND_ERROR.rawValue), message: "The peer does not read the data that was sent.")
        }
        output.append(bytes)
        waiting += bytes.count
        return progress()
    }

    func resume() -> CurlEnd? {
        isPaused = false
        // TLS may have decrypted more bytes than the delegate has accepted. The socket does not become readable for
        // these bytes.
        return progress()
    }

    /// The socket and the events to watch for. Nil if there is nothing to watch.
    var watched: curl_waitfd? {
        guard let socket else { return nil }
        let events = (isPaused ? 0 : CURL_WAIT_POLLIN) | (output.isEmpty ? 0 : CURL_WAIT_POLLOUT)
        return events == 0 ? nil : curl_waitfd(fd: socket, events: Int16(events), revents: 0)
    }

    /// Sends and receives as much as possible without waiting.
    ///
    /// - Returns: The end of the channel if the channel has ended, otherwise nil.
    func progress() -> CurlEnd? {
        guard socket != nil else { return nil }
        return flush() ?? receive()
    }

    private func flush() -> CurlEnd? {
        while let piece = output.first {
            var count = 0
            let result = piece.withUnsafeBytes { bytes in
                curl_easy_send(easy, bytes.baseAddress.map { $0 + sent }, bytes.count - sent, &count)
            }
            if result == CURLE_AGAIN { return nil }
            guard result == CURLE_OK else { return end(result) }
            sent += count
            waiting -= count
            guard sent == piece.count else { continue }
            output.removeFirst()
            sent = 0
        }
        return nil
    }

    private func receive() -> CurlEnd? {
        guard !isPaused else { return nil }
        var count = 0
        let result = buffer.withUnsafeMutableBytes { curl_easy_recv(easy, $0.baseAddress, $0.count, &count) }
        if result == CURLE_AGAIN { return nil }
        guard result == CURLE_OK else { return end(result) }
        guard count > 0 else { return CurlEnd(code: 0, message: "The peer has closed the connection.") }
        isPaused = true
        delegate.received(Array(buffer.prefix(count)))
        return nil
    }

    private func end(_ code: CURLcode) -> CurlEnd {
        CurlEnd(
            code: Int32(code.rawValue), message: CurlEnd.words(errorText, code),
            systemError: socketMaker.systemError(of: easy, at: code), phase: socket == nil ? .connecting : .receiving)
    }
}

/// The channels of one loop.
struct ChannelTable {
    private var channels: [Int: ChannelCore] = [:]

    var isEmpty: Bool { channels.isEmpty }
    var ids: [Int] { Array(channels.keys) }

    func channel(_ id: Int) -> ChannelCore? { channels[id] }

    func id(of easy: UnsafeMutableRawPointer) -> Int? { channels.first { $0.value.easy == easy }?.key }

    /// The sockets that the loop watches for channels.
    var watched: [curl_waitfd] { channels.values.compactMap(\.watched) }

    mutating func insert(_ channel: ChannelCore, id: Int) { channels[id] = channel }

    mutating func remove(_ id: Int) -> ChannelCore? { channels.removeValue(forKey: id) }
}
