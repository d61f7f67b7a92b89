import Foundation
import Logging
import NightshiftAPI
import TestSupport
import Testing
import Transfers

@testable import Daemon

/// Tests of the administrator's configuration (mission row B1).
@Suite struct ConfigurationTests {
    /// Returns the configuration of a service whose file contains `file`.
    private func configuration(
        _ environment: [String: String] = [:], file: String? = nil
    ) async throws -> DaemonConfiguration {
        var home = try TestHome()
        home.environment["NIGHTSHIFT_DEVICE_TRACE"] = nil
        home.environment.merge(environment) { $1 }
        if let file {
            try FileManager.default.createDirectory(at: home.paths.configuration, withIntermediateDirectories: true)
            try Data(file.utf8).write(to: home.paths.configuration.appending(path: "nightshiftd.env"))
        }
        return try await home.configuration()
    }

    @Test func `B1: Without configuration the service has no settings`() async throws {
        let configuration = try await configuration()
        #expect(configuration.logLevel == .info)
        #expect(configuration.proxy == nil && configuration.tls == nil && configuration.deviceTrace == nil)
    }

    @Test func `B1: The environment takes precedence over the file, key by key`() async throws {
        let file = """
            # NIGHTSHIFT_PROXY=http://commented.example

              NIGHTSHIFT_PROXY=http://file.example:8080
            NIGHTSHIFT_LOG_LEVEL=debug
            a line that says nothing
            NIGHTSHIFT_CA_FILE=/etc/own.pem
            """
        let alone = try await configuration(file: file)
        #expect(alone.proxy == "http://file.example:8080" && alone.logLevel == .debug)
        #expect(alone.tls == TLSSettings(certificateAuthority: "/etc/own.pem", clientCertificate: nil, clientKey: nil))
        let both = try await configuration(["NIGHTSHIFT_PROXY": "http://environment.example"], file: file)
        #expect(both.proxy == "http://environment.example" && both.logLevel == .debug)
    }

    @Test func `T8: The service uses the proxy variables of the administrator, but not those of a client`()
        async throws
    {
        let variables = ["https_proxy": "http://p:3128", "no_proxy": "a.example"]
        let own = try await configuration(variables).fallback
        #expect(own.variables == ["https_proxy", "no_proxy"])
        #expect(own.proxy(for: "https://b.example/") == "http://p:3128" && own.proxy(for: "https://a.example/") == "")
        let clients = try await configuration(variables.merging([ServicePaths.startedByClient: "1"]) { $1 })
        #expect(clients.fallback.variables.isEmpty && clients.fallback.proxy(for: "https://b.example/") == nil)
        // Apps still get these variables at their launch.
        #expect(clients.environment["https_proxy"] == "http://p:3128")
        let configured = try await configuration(variables.merging(["NIGHTSHIFT_PROXY": "socks://q"]) { $1 }).fallback
        #expect(configured.variables == ["NIGHTSHIFT_PROXY"])
        #expect(configured.proxy(for: "https://a.example/") == "socks5h://q")
    }

    @Test func `T8: The error about an invalid proxy setting stops the start and names the setting`() async throws {
        let error = await #expect(throws: DaemonError.self) {
            try await configuration(["NIGHTSHIFT_PROXY": "ftp://p"])
        }
        #expect(error?.exitStatus == 2 && error?.description.contains("NIGHTSHIFT_PROXY") == true)
    }

    @Test(arguments: [
        "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
        "ftp_proxy", "SSLKEYLOGFILE", "CURL_HOME", "CURL_CA_BUNDLE", "CURL_SSL_BACKEND", "NETRC", "SSL_CERT_FILE",
        "SSL_CERT_DIR", "OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "RES_OPTIONS", "LOCALDOMAIN",
        "HOSTALIASES", "RESOLV_HOST_CONF", "RESOLV_MULTI", "SQLITE_TMPDIR", "TMPDIR", "KRB5CCNAME", "KRB5_CONFIG",
        "KRB5_TRACE", "CFFIXED_USER_HOME", "WAYLAND_SOCKET", "LLMNR", "NSS_WRAPPER_HOSTS", "GODEBUG",
    ])
    func `T8: The service removes variables that libraries would read from its environment`(name: String) {
        #expect(!ServiceEnvironment.isKept(name))
    }

    @Test(arguments: [
        "HOME", "PATH", "LANG", "LC_ALL", "TZ", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "NIGHTSHIFT_HOME", "LISTEN_FDS",
        "NOTIFY_SOCKET", "WATCHDOG_USEC", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "LIBDISPATCH_LOG",
    ])
    func `B1: The service keeps variables that locate it and its session`(name: String) {
        #expect(ServiceEnvironment.isKept(name))
    }

    @Test func `B1: A client certificate alone is a TLS setting`() async throws {
        let configuration = try await configuration([
            "NIGHTSHIFT_CLIENT_CERTIFICATE": "/a.pem", "NIGHTSHIFT_CLIENT_KEY": "/a.key",
        ])
        #expect(
            configuration.tls
                == TLSSettings(certificateAuthority: nil, clientCertificate: "/a.pem", clientKey: "/a.key"))
    }

    @Test func `B1: The error about an invalid log level lists the valid ones`() async throws {
        let error = await #expect(throws: DaemonError.self) {
            try await configuration(["NIGHTSHIFT_LOG_LEVEL": "loud"])
        }
        #expect(error?.exitStatus == 2)
        #expect(error?.description.contains("'loud'") == true && error?.description.contains("critical") == true)
        let written = try await configuration(["NIGHTSHIFT_LOG_LEVEL": "Warning"])
        #expect(written.logLevel == .warning)
    }

    @Test func `B1: Apps receive a home path that is valid in every directory`() async throws {
        var configuration = try await configuration()
        configuration.environment["NIGHTSHIFT_HOME"] = "relative/home"
        let home = try #require(configuration.absoluteEnvironment["NIGHTSHIFT_HOME"])
        #expect(home.hasPrefix("/") && home.hasSuffix("/relative/home"))
        configuration.environment["NIGHTSHIFT_HOME"] = ""
        #expect(configuration.absoluteEnvironment["NIGHTSHIFT_HOME"] == "")
    }
}
