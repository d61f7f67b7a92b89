import Foundation
import Glibc

/// A client that sends requests to a running gateway over its socket.
package struct AdministrationClient: Sendable {
    private let path: String

    package init(path: String) {
        self.path = path
    }

    /// Sends `request`, and passes each line of the answer to `body` until it returns false.
    package func ask(_ request: AdministrationRequest, _ body: (AdministrationReply) throws -> Bool) throws {
        let socket = try connect()
        defer { close(socket) }
        var bytes = Array(try JSONEncoder().encode(request))
        bytes.append(0x0A)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw GatewayError("The gateway at \(path) closed the connection.") }
            sent += count
        }
        var pending: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            pending += buffer[..<count]
            while let end = pending.firstIndex(of: 0x0A) {
                let reply = try JSONDecoder().decode(AdministrationReply.self, from: Data(pending[..<end]))
                pending.removeSubrange(...end)
                guard try body(reply) else { return }
            }
        }
    }

    private func connect() throws -> Int32 {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Self.unreachable(path, errno) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        guard path.utf8.count < capacity else {
            close(descriptor)
            throw GatewayError("The path \(path) is too long for a socket.")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            let code = errno
            close(descriptor)
            throw Self.unreachable(path, code)
        }
        return descriptor
    }

    /// Returns the error for a gateway that could not be reached.
    ///
    /// - Parameter code: the `errno` of the attempt to connect.
    package static func unreachable(_ path: String, _ code: Int32) -> GatewayError {
        switch code {
        case EACCES, EPERM: GatewayError(noPermission(path))
        case ENOENT, ECONNREFUSED, ENOTDIR:
            GatewayError(
                "No gateway answers at \(path). Start one with 'nightshift-gateway run', or use --socket."
            )
        default: GatewayError("The gateway at \(path) cannot be reached: \(String(cString: strerror(code))).")
        }
    }

    static func noPermission(_ path: String) -> String {
        "You may not use the gateway at \(path): only its own user and root may. Run the command as root,"
            + " with sudo."
    }
}
