import Glibc
import Synchronization

/// The kinds of loopback addresses.
package enum Loopback: String, Sendable {
    case ipv4 = "127.0.0.1"
    case ipv6 = "::1"

    /// The address in the form that a URL uses.
    package var urlHost: String { self == .ipv4 ? rawValue : "[\(rawValue)]" }
}

/// The function accept4 of Linux, which the Glibc module declares only with `_GNU_SOURCE`. The socket must be
/// close-on-exec from the start. Otherwise a process that a test starts at that time would keep the connection open.
@_silgen_name("accept4")
private func accept4(
    _: Int32, _: UnsafeMutablePointer<sockaddr>?, _: UnsafeMutablePointer<socklen_t>?, _: Int32
) -> Int32

/// The poll event of a peer that sends no more bytes or has disconnected (POLLRDHUP). Glibc hides it as it hides
/// `accept4`.
private let pollPeerClosed: Int32 = 0x2000

/// A blocking TCP socket on loopback, as a value. Its owner must close it exactly once.
struct Socket: Sendable, Hashable {
    let descriptor: Int32

    static func listening(on host: Loopback, port: UInt16) throws -> Socket {
        let socket = try bound(to: host, port: port)
        do {
            try socket.listen()
        } catch {
            socket.close()
            throw error
        }
        return socket
    }

    /// Returns a socket that reserves a port until it is closed. The `port` 0 means any free port.
    static func bound(to host: Loopback, port: UInt16) throws -> Socket {
        let socket = try make(for: host)
        socket.set(SOL_SOCKET, SO_REUSEADDR, 1)
        do {
            try withAddress(host, port: port) { address, length in
                guard bind(socket.descriptor, address, length) == 0 else { throw SystemError("bind") }
            }
        } catch {
            socket.close()
            throw error
        }
        guard port == 0 else { return socket }
        // A port that was requested by its number stays reserved until the requester closes the socket.
        defer { socket.close() }
        return try bound(to: host, port: socket.port)
    }

    /// Starts accepting connections. This also works after a shutdown.
    func listen() throws {
        guard Glibc.listen(descriptor, 1024) == 0 else { throw SystemError("listen") }
    }

    static func connected(to host: Loopback, port: UInt16) throws -> Socket {
        let socket = try make(for: host)
        do {
            try withAddress(host, port: port) { address, length in
                guard connect(socket.descriptor, address, length) == 0 else { throw SystemError("connect") }
            }
        } catch {
            socket.close()
            throw error
        }
        socket.set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        return socket
    }

    private static func make(for host: Loopback) throws -> Socket {
        let family = host == .ipv4 ? AF_INET : AF_INET6
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError("socket") }
        return Socket(descriptor: descriptor)
    }

    private static func withAddress(
        _ host: Loopback, port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Void
    ) throws {
        switch host {
        case .ipv4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            inet_pton(AF_INET, host.rawValue, &address.sin_addr)
            try withUnsafePointer(to: &address) { pointer in
                try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    try body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        case .ipv6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            inet_pton(AF_INET6, host.rawValue, &address.sin6_addr)
            try withUnsafePointer(to: &address) { pointer in
                try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    try body($0, socklen_t(MemoryLayout<sockaddr_in6>.size))
                }
            }
        }
    }

    /// The port to which this socket is bound.
    var port: UInt16 {
        // Family and port are at the same position in the addresses of both families.
        var address = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &length) }
        }
        return UInt16(bigEndian: address.sin6_port)
    }

    /// The port of the other side.
    private var peerPort: UInt16 {
        var address = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getpeername(descriptor, $0, &length) }
        }
        return UInt16(bigEndian: address.sin6_port)
    }

    /// Returns the number of sent bytes that the other side, a process of this machine, has not read. These are the
    /// bytes that the kernel holds for both sides. Bytes that move in the meantime may count twice, but always count at
    /// least once.
    func bytesUnread(on host: Loopback) -> Int64 {
        var unsent: Int32 = 0
        _ = ioctl(descriptor, UInt(TIOCOUTQ), &unsent)
        let table = (try? fileBytes(host == .ipv4 ? "/proc/net/tcp" : "/proc/net/tcp6")) ?? []
        let (peer, own) = (peerPort, port)
        // The columns are sl, local address, remote address, state, and tx_queue:rx_queue. Their numbers are
        // hexadecimal (proc(5)).
        let unread = table.split(separator: UInt8(ascii: "\n")).lazy.compactMap { line -> Int64? in
            let fields = String(decoding: line, as: UTF8.self).split(separator: " ")
            guard fields.count > 4 else { return nil }
            let (ports, queues) = (fields[1...2].map { $0.split(separator: ":").last }, fields[4].split(separator: ":"))
            guard ports[0].flatMap({ UInt16($0, radix: 16) }) == peer,
                ports[1].flatMap({ UInt16($0, radix: 16) }) == own
            else { return nil }
            return queues.last.flatMap { Int64($0, radix: 16) }
        }.first
        return Int64(unsent) + (unread ?? 0)
    }

    /// Waits for the next connection. Returns nil once the listener was shut down.
    func accepted() -> Socket? {
        while true {
            let connection = accept4(descriptor, nil, nil, Int32(SOCK_CLOEXEC.rawValue))
            if connection >= 0 {
                let socket = Socket(descriptor: connection)
                socket.set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
                return socket
            }
            guard errno == EINTR || errno == ECONNABORTED else { return nil }
        }
    }

    /// Waits for any of `events`, and returns those that occurred, or 0 after `milliseconds`. The value -1 means no
    /// limit.
    func wait(for events: Int32, milliseconds: Int32) -> Int32 {
        var entry = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events), revents: 0)
        let count = poll(&entry, 1, milliseconds)
        return count > 0 ? Int32(entry.revents) : 0
    }

    var isHungUp: Bool { wait(for: pollPeerClosed, milliseconds: 0) != 0 }

    /// Waits for `duration`. Returns true if the peer, or ``shutdown()``, ended the connection meanwhile.
    func hungUp(within duration: Duration) -> Bool {
        let end = ContinuousClock.now + duration
        repeat {
            let left = ContinuousClock.now.duration(to: end)
            let (seconds, attoseconds) = left.components
            let milliseconds = Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000)
            if milliseconds <= 0 {
                // The resolution of `poll` is whole milliseconds.
                if left > .zero { blockThread(for: left, because: "Bytes are due at their rate.") }
                return false
            }
            if wait(for: pollPeerClosed, milliseconds: milliseconds) != 0 { return true }
        } while ContinuousClock.now < end
        return false
    }

    /// Returns the number of bytes read, which is 0 at the end, or nil after an error.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count >= 0 { return count }
            guard errno == EINTR else { return nil }
        }
    }

    /// Sends all of `bytes`. Returns false if the connection is gone.
    func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[sent...])
            let count = Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            if count < 0 {
                guard errno == EINTR else { return false }
            } else {
                sent += count
            }
        }
        return true
    }

    func send(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { send(UnsafeRawBufferPointer($0)) }
    }

    func set(_ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Ends both directions and wakes every thread that waits on this socket, which stays open.
    func shutdown() {
        _ = Glibc.shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Ends the sending direction, and lets the sent bytes arrive even if the peer still sends.
    func finishSending() {
        _ = Glibc.shutdown(descriptor, Int32(SHUT_WR))
        let end = ContinuousClock.now + .seconds(10)
        withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { buffer in
            while ContinuousClock.now < end, wait(for: Int32(POLLIN), milliseconds: 2_000) != 0 {
                guard let count = receive(into: buffer), count > 0 else { return }
            }
        }
    }

    func close() {
        _ = Glibc.close(descriptor)
    }

    /// Closes the socket with a reset (RST). Bytes that the peer has not read yet are lost.
    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close()
    }
}

/// Returns a loopback port for servers that cannot choose one themselves.
///
/// The port is below those that the kernel assigns, so it stays free until the server has started. This process never
/// gets the same port twice.
package func freePort() throws -> UInt16 {
    while true {
        let port = UInt16.random(in: 10_000...32_000)
        guard givenPorts.withLock({ $0.insert(port).inserted }) else { continue }
        guard let socket = try? Socket.listening(on: .ipv4, port: port) else { continue }
        socket.close()
        return port
    }
}

private let givenPorts = Mutex<Set<UInt16>>([])
