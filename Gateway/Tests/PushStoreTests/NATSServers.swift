import Foundation
import Glibc
import PushCluster
import PushStore

/// Real NATS servers on loopback, in a folder of their own. They end with this object.
final class NATSServers {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    let urls: [String]
    private let folder: URL
    private let program: String
    /// The command line of each server.
    private let commands: [[String]]
    private var processes: [Process] = []

    /// - Parameter started: the number of servers to start at once, or nil to start all.
    init(_ count: Int, started: Int? = nil) throws {
        let program = ["/usr/sbin/nats-server", "/usr/bin/nats-server", "/usr/local/bin/nats-server"].first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
        guard let program else {
            throw Failure(description: "There is no nats-server: scripts/packages.sh gateway installs it.")
        }
        folder = FileManager.default.temporaryDirectory.appending(path: "push-nats-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let ports = try Self.freePorts(2 * count)
        urls = ports.prefix(count).map { "nats://127.0.0.1:\($0)" }
        let routes = ports.suffix(count).map { "nats://127.0.0.1:\($0)" }.joined(separator: ",")
        self.program = program
        commands = (0..<count).map { [folder] number in
            let alone = [
                "-js", "-a", "127.0.0.1", "-p", "\(ports[number])", "-sd", folder.appending(path: "\(number)").path,
                "-n", "n\(number)",
            ]
            guard count > 1 else { return alone }
            let route = "nats://127.0.0.1:\(ports[count + number])"
            return alone + ["--cluster_name", "test", "--cluster", route, "--routes", routes]
        }
        for _ in 0..<(started ?? count) { try startNext() }
    }

    /// Starts the first server that is not running yet.
    func startNext() throws {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = commands[processes.count]
        process.standardError = FileHandle.nullDevice
        try process.run()
        processes.append(process)
    }

    deinit {
        for process in processes {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        try? FileManager.default.removeItem(at: folder)
    }

    /// Opens a store on these servers as soon as they have found each other.
    func store(replicas: Int) async throws -> NATSStore {
        while true {
            do throws(StoreError) {
                return try await NATSStore(NATSSettings(servers: urls, replicas: replicas, streams: 2))
            } catch {
                guard error.code == .unavailable else { throw error }
                guard processes.allSatisfy(\.isRunning) else {
                    throw Failure(description: "A nats-server has ended.")
                }
                await Task.yield()
            }
        }
    }

    /// Suspends a server, so that it exists but does not respond, like a server whose disk hangs.
    func stall(_ number: Int) {
        kill(processes[number].processIdentifier, SIGSTOP)
    }

    /// Returns ports that are free now. The function holds all of them while it searches.
    private static func freePorts(_ count: Int) throws -> [UInt16] {
        var sockets: [Int32] = []
        defer { for socket in sockets { close(socket) } }
        return try (0..<count).map { _ in
            let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            sockets.append(socket)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(socket, $0, length) == 0 ? getsockname(socket, $0, &length) : -1
                }
            }
            guard result == 0 else { throw Failure(description: "There is no free port.") }
            return UInt16(bigEndian: address.sin_port)
        }
    }
}
