import Glibc

extension WebServer {
    package struct ApacheOptions: Sendable {
        /// The credentials for everything below ``basicPath`` and ``digestPath``.
        package var user = "night"
        package var password = "shift"
        /// Additional lines for the configuration.
        package var extra = ""

        package init() {}
    }

    /// The path of files that need Basic credentials. They are the same files as below `/`.
    package static let basicPath = "/basic/"
    /// The path of files that need Digest (MD5) credentials. They are the same files as below `/`.
    package static let digestPath = "/digest/"

    /// Starts Apache, with static files that have entity tags and ranges, WebDAV's PUT below ``uploadPath``, and Basic
    /// and Digest authentication.
    package static func apache(_ options: ApacheOptions = ApacheOptions()) async throws -> WebServer {
        try await WebServer(program: "/usr/sbin/apache2", package: "apache2") { layout in
            let realm = "apache"
            let secret = DigestAlgorithm.md5.hash("\(options.user):\(realm):\(options.password)")
            try layout.directory.write("\(options.user):\(realm):\(secret)\n", to: "digest.users")
            let basic = try await ChildProcess.run("openssl", ["passwd", "-apr1", options.password])
            try layout.directory.write("\(options.user):\(basic.output)", to: "basic.users")
            let path = try layout.directory.write(configuration(options, layout, realm), to: "apache.conf")
            return ["-f", path, "-D", "FOREGROUND"]
        }
    }

    private static func configuration(_ options: ApacheOptions, _ layout: Layout, _ realm: String) -> String {
        let modules = [
            "mpm_event", "authz_core", "authn_core", "authn_file", "authz_user", "auth_basic", "auth_digest", "alias",
            "dav", "dav_fs", "headers",
        ]
        let directory = layout.directory.path
        return """
            \(modules.map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }.joined(separator: "\n"))
            ServerName localhost
            ServerRoot \(directory)
            PidFile \(directory)/apache.pid
            DefaultRuntimeDir \(directory)
            Mutex file:\(directory)
            Listen 127.0.0.1:\(layout.port)
            # Apache refuses to answer requests as root; for anyone else these two mean nothing.
            User nobody
            Group nogroup
            ErrorLog \(directory)/error.log
            DocumentRoot \(layout.documents)
            DavLockDB \(layout.documents)\(uploadPath)locks
            FileETag MTime Size
            <Directory \(layout.documents)>
                Require all granted
            </Directory>
            <Directory \(layout.documents)\(uploadPath)>
                Dav On
            </Directory>
            Alias \(basicPath) \(layout.documents)/
            Alias \(digestPath) \(layout.documents)/
            <Location \(basicPath)>
                AuthType Basic
                AuthName \(realm)
                AuthUserFile \(directory)/basic.users
                Require valid-user
            </Location>
            <Location \(digestPath)>
                AuthType Digest
                AuthName \(realm)
                AuthDigestProvider file
                AuthUserFile \(directory)/digest.users
                Require valid-user
            </Location>
            \(options.extra)

            """
    }
}
