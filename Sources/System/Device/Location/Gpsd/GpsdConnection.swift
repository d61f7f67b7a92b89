import Glibc
import NightshiftAPI

/// A connection to gpsd, used by one thread.
///
/// No method blocks: data is read when poll(2) reports it. When the connection closes, gpsd releases the receiver.
final class GpsdConnection {
    /// The purpose of a connection.
    enum Purpose: Equatable, Sendable {
        /// Lists the receivers without switching them on.
        case look
        /// Receives fixes. gpsd switches the receiver on for this.
        case watch

        fileprivate var request: String {
            switch self {
            case .look: "?DEVICES;\n"
            case .watch: "?WATCH={\"enable\":true,\"json\":true};\n"
            }
        }
    }

    let descriptor: Int32
    private let purpose: Purpose
    private var lines = GpsdLines()
    private var hasAsked = false

    /// Begins to connect, without waiting for the result.
    init(host: String, port: UInt16, for purpose: Purpose) throws(GpsdFailure) {
        self.purpose = purpose
        let isNewer = host.contains(":")
        let socket = Glibc.socket(
            isNewer ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
        guard socket >= 0 else { throw Self.failure(errno) }
        let result = isNewer ? Self.connect6(socket, host, port) : Self.connect4(socket, host, port)
        let code = errno
        guard result == 0 || code == EINPROGRESS else {
            close(socket)
            throw Self.failure(code)
        }
        descriptor = socket
    }

    deinit {
        close(descriptor)
    }

    /// The events for which poll(2) waits.
    var events: Int16 { Int16(hasAsked ? POLLIN : POLLOUT) }

    /// Returns the reports in a limited amount of the data that has arrived. Throws when the connection has ended.
    func next() throws(GpsdFailure) -> [GpsdReport] {
        if !hasAsked { try ask() }
        guard hasAsked else { return [] }
        return try withUnsafeTemporaryAllocation(byteCount: 8_192, alignment: 1) { buffer throws(GpsdFailure) in
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return lines.read(buffer[..<count]) }
            if count == 0 { throw GpsdFailure("has closed the connection") }
            let code = errno
            if code == EAGAIN || code == EINTR { return [] }
            throw Self.failure(code)
        }
    }

    /// Sends the request once the connection is made. Throws if connecting has failed.
    private func ask() throws(GpsdFailure) {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout.size(ofValue: code))
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0 else { throw Self.failure(errno) }
        guard code == 0 else { throw Self.failure(code) }
        let request = Array(purpose.request.utf8)
        // The send buffer of a new connection has room for the whole request.
        let count = send(descriptor, request, request.count, Int32(MSG_NOSIGNAL))
        let failed = errno
        if count < 0, failed == EAGAIN || failed == ENOTCONN { return }
        guard count == request.count else { throw Self.failure(count < 0 ? failed : EIO) }
        hasAsked = true
    }

    private static func connect4(_ socket: Int32, _ host: String, _ port: UInt16) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else { return invalid() }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private static func connect6(_ socket: Int32, _ host: String, _ port: UInt16) -> Int32 {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        guard inet_pton(AF_INET6, host, &address.sin6_addr) == 1 else { return invalid() }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
            }
        }
    }

    private static func invalid() -> Int32 {
        errno = EINVAL
        return -1
    }

    private static func failure(_ code: Int32) -> GpsdFailure { GpsdFailure(String(cString: strerror(code))) }
}

/// The reason why gpsd cannot be reached, or why its connection ended.
struct GpsdFailure: Error, Equatable {
    /// The text of the reason, such as "has closed the connection".
    let text: String

    init(_ text: String) {
        self.text = text
    }
}
