import Glibc

extension WebServer {
    package struct NginxOptions: Sendable {
        /// The certificates with which the server uses TLS and HTTP/2.
        package var certificates: TestCertificates?
        package var requiresClientCertificate = false
        /// The rate limit of each connection in bytes per second.
        package var limitRate: Int64?
        package var hasHTTP2 = true
        /// Additional lines for the `server` block.
        package var extra = ""

        package init() {}
    }

    /// Starts nginx, with static files that have entity tags and ranges, and PUT below ``uploadPath``.
    package static func nginx(_ options: NginxOptions = NginxOptions()) async throws -> WebServer {
        try await WebServer(
            program: "/usr/sbin/nginx", package: "nginx-light", certificates: options.certificates
        ) { layout in
            let path = try layout.directory.write(configuration(options, layout), to: "nginx.conf")
            return ["-c", path, "-p", layout.directory.path, "-e", layout.directory.path("error.log")]
        }
    }

    private static func configuration(_ options: NginxOptions, _ layout: Layout) -> String {
        let scratch = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
            "\($0)_temp_path \(layout.directory.path)/\($0);"
        }
        var tls = ""
        if let certificates = options.certificates {
            tls = """
                ssl_certificate \(certificates.serverCertificate);
                ssl_certificate_key \(certificates.serverKey);
                """
            if options.requiresClientCertificate {
                tls += "\nssl_client_certificate \(certificates.authority);\nssl_verify_client on;"
            }
        }
        let listen = options.certificates == nil ? "" : options.hasHTTP2 ? " ssl http2" : " ssl"
        return """
            \(geteuid() == 0 ? "user root;" : "")
            daemon off;
            worker_processes 1;
            pid \(layout.directory.path)/nginx.pid;
            events { worker_connections 1024; }
            http {
                access_log \(layout.directory.path)/access.log;
                \(scratch.joined(separator: "\n"))
                default_type application/octet-stream;
                sendfile on;
                client_max_body_size 0;
                server {
                    listen 127.0.0.1:\(layout.port)\(listen);
                    server_name localhost;
                    root \(layout.documents);
                    \(tls)
                    \(options.limitRate.map { "limit_rate \($0);" } ?? "")
                    \(options.extra)
                    location \(uploadPath) { dav_methods PUT DELETE; }
                }
            }

            """
    }
}
