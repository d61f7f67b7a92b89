import Foundation
import TestSupport

/// A server that answers each connection with valid or invalid bytes from a script, over TCP or a Unix socket.
final class ScriptedServer: Sendable {
    let port: UInt16
    private let listener: Int32
    private let accepted = Watched<[Int32]>([])

    /// One step of a script.
    enum Step: Sendable {
        /// Reads a request's head.
        case read
        /// Reads a number of bytes of a body.
        case readBody(Int)
        case write(String)
        case writeBytes(Int)
        /// Writes the text repeatedly until the client disconnects.
        case writeForEver(String)
        /// Waits for the client to disconnect.
        case stall
        /// Waits until the value is true.
        case hold(Watched<Bool>)
        /// Ends the script, and resets the connection. It must be the last step.
        case reset
        case serve(@Sendable (Int32) -> Void)
    }

    /// Runs the n-th script on the n-th connection and the last one on all later ones, then closes the connection.
    convenience init(unixSocket path: String? = nil, _ scripts: [Step]...) throws {
        try self.init(unixSocket: path, scripts: scripts)
    }

    init(unixSocket path: String? = nil, scripts: [[Step]]) throws {
        listener = socket(path == nil ? AF_INET : AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        if let path { try Self.bindUnix(listener, path) } else { try Self.bindLoopback(listener) }
        guard listen(listener, 64) == 0 else { throw SystemError("listen") }
        port = Self.port(of: listener)
        let (listener, accepted) = (listener, accepted)
        Thread.detachNewThread {
            while true {
                let connection = accept(listener, nil, nil)
                if connection < 0 { return }
                let number = accepted.update { accepted in
                    accepted.append(connection)
                    return accepted.count
                }
                let script = scripts[min(number, scripts.count) - 1]
                Thread.detachNewThread {
                    Self.run(script, connection)
                    if !Self.isReset(script, connection) {
                        shutdown(connection, Int32(SHUT_WR))
                        Self.drain(connection)
                    }
                    close(connection)
                }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

    var connectionCount: Int { accepted.read(\.count) }

    private static func run(_ script: [Step], _ connection: Int32) {
        for step in script {
            switch step {
            case .read:
                var tail: [UInt8] = []
                var byte: UInt8 = 0
                while tail.suffix(4) != [13, 10, 13, 10] {
                    guard recv(connection, &byte, 1, 0) == 1 else { return }
                    tail.append(byte)
                }
            case .readBody(let count):
                var buffer = [UInt8](repeating: 0, count: 65_536)
                var left = count
                while left > 0 {
                    let read = recv(connection, &buffer, min(left, buffer.count), 0)
                    guard read > 0 else { return }
                    left -= read
                }
            case .write(let text):
                guard send(Array(text.utf8), on: connection) else { return }
            case .writeBytes(let count):
                guard send([UInt8](repeating: 0x78, count: count), on: connection) else { return }
            case .writeForEver(let text):
                while send(Array(text.utf8), on: connection) {}
            case .stall:
                var entry = pollfd(fd: connection, events: 0x2000, revents: 0)
                poll(&entry, 1, Int32(WaitingTime.longest.components.seconds) * 1_000)
            case .reset:
                return
            case .serve(let serve):
                serve(connection)
            case .hold(let gate):
                _ = gate.block(until: .now + WaitingTime.longest) { $0 }
            }
        }
    }

    /// Makes the closing of the connection a reset if the script ends with ``Step/reset``. Returns whether it does.
    private static func isReset(_ script: [Step], _ connection: Int32) -> Bool {
        guard case .reset = script.last else { return false }
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(connection, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        return true
    }

    static func send(_ bytes: [UInt8], on connection: Int32) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Foundation.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    private static func drain(_ connection: Int32) {
        var entry = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while poll(&entry, 1, 10_000) > 0, recv(connection, &buffer, buffer.count, 0) > 0 {}
    }

    private static func bindLoopback(_ descriptor: Int32) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw SystemError("bind") }
    }

    private static func bindUnix(_ descriptor: Int32, _ path: String) throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw SystemError("bind") }
    }

    private static func port(of descriptor: Int32) -> UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &length) }
        }
        return UInt16(bigEndian: address.sin_port)
    }
}
