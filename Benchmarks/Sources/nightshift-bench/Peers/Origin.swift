import Foundation
import Glibc

/// An nginx server on its own loopback ports: plain, TLS, and HTTP/2 over TLS. It is slow below `/slow/`, accepts
/// uploads below `/uploads/`, and sends an empty 200 below `/empty/`.
final class Origin {
    /// The folder that the server serves.
    let root: String
    let plain: String
    let plainPort: UInt16
    let tls: String
    let http2: String
    /// The PEM file of the trusted authority for ``tls`` and ``http2``.
    let authority: String
    private let process: ChildProcess

    init(workspace: Workspace) throws {
        root = try workspace.empty("origin")
        plainPort = try Self.freePort()
        let tlsPort = try Self.freePort()
        let http2Port = try Self.freePort()
        _ = try workspace.empty("origin/uploads")
        plain = "http://127.0.0.1:\(plainPort)"
        tls = "https://127.0.0.1:\(tlsPort)"
        http2 = "https://127.0.0.1:\(http2Port)"
        authority = "\(workspace.path)/authority.pem"
        let key = "\(workspace.path)/key.pem"
        try ChildProcess.require(
            [
                "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", authority,
            ], log: workspace.log, limit: 30)

        let configuration = "\(workspace.path)/nginx.conf"
        try """
        daemon off;
        worker_processes 1;
        pid \(workspace.path)/nginx.pid;
        error_log \(workspace.log);
        \(getuid() == 0 ? "user root;" : "")
        events { worker_connections 1024; }
        http {
            access_log off;
            sendfile on;
            tcp_nopush on;
            keepalive_requests 1000000;
            http2_max_concurrent_streams 128;
            client_body_temp_path \(workspace.path)/nginx-body;
            proxy_temp_path \(workspace.path)/nginx-proxy;
            fastcgi_temp_path \(workspace.path)/nginx-fastcgi;
            uwsgi_temp_path \(workspace.path)/nginx-uwsgi;
            scgi_temp_path \(workspace.path)/nginx-scgi;
            server {
                listen 127.0.0.1:\(plainPort);
                listen 127.0.0.1:\(tlsPort) ssl;
                listen 127.0.0.1:\(http2Port) ssl http2;
                ssl_certificate \(authority);
                ssl_certificate_key \(key);
                root \(root);
                location /slow/ { alias \(root)/; limit_rate 256k; }
                location /empty/ { return 200; }
                location /uploads/ { dav_methods PUT; client_max_body_size 0; }
            }
        }
        """.write(toFile: configuration, atomically: false, encoding: .utf8)
        let nginx = ["/usr/sbin/nginx", "/usr/bin/nginx"].first(where: FileManager.default.isExecutableFile) ?? "nginx"
        process = try ChildProcess([nginx, "-c", configuration, "-e", workspace.log], log: workspace.log)
        try Self.awaitListener(plainPort)
    }

    func stop() {
        kill(process.processID, SIGTERM)
        _ = try? process.wait(limit: 10, since: Instant())
    }

    /// Returns a port that is currently free.
    private static func freePort() throws -> UInt16 {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = loopback(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 ? getsockname(listener, address, &length) : -1
            }
        }
        guard result == 0 else { throw BenchError("no free port: \(String(cString: strerror(errno)))") }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func awaitListener(_ port: UInt16) throws {
        let start = Instant()
        while start.elapsed < 10 {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(descriptor) }
            var address = loopback(port)
            let connected = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            if connected == 0 { return }
            usleep(10_000)
        }
        throw BenchError("nginx does not listen")
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }
}
