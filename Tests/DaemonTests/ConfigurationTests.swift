import Foundation
import Logging
import NightshiftAPI
import TestSupport
import Testing

@testable import Daemon

/// What an operator can set, and where (mission row B1).
@Suite struct ConfigurationTests {
    /// What a service reads whose file says `file`.
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

    @Test func `B1: Without a word of an operator nothing is set`() async throws {
        let configuration = try await configuration()
        #expect(configuration.logLevel == .info)
        #expect(configuration.proxy == nil && configuration.tls == nil && configuration.deviceTrace == nil)
    }

    @Test func `B1: The environment wins over the file, key by key`() async throws {
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

    @Test func `B1: A client certificate alone is a TLS setting`() async throws {
        let configuration = try await configuration([
            "NIGHTSHIFT_CLIENT_CERTIFICATE": "/a.pem", "NIGHTSHIFT_CLIENT_KEY": "/a.key",
        ])
        #expect(
            configuration.tls
                == TLSSettings(certificateAuthority: nil, clientCertificate: "/a.pem", clientKey: "/a.key"))
    }

    @Test func `B1: A level that is none is refused with those that there are`() async throws {
        let error = await #expect(throws: DaemonError.self) {
            try await configuration(["NIGHTSHIFT_LOG_LEVEL": "loud"])
        }
        #expect(error?.exitStatus == 2)
        #expect(error?.description.contains("'loud'") == true && error?.description.contains("critical") == true)
        let written = try await configuration(["NIGHTSHIFT_LOG_LEVEL": "Warning"])
        #expect(written.logLevel == .warning)
    }

    @Test func `B1: Apps are given a home that is the same in every directory`() async throws {
        var configuration = try await configuration()
        configuration.environment["NIGHTSHIFT_HOME"] = "relative/home"
        let home = try #require(configuration.absoluteEnvironment["NIGHTSHIFT_HOME"])
        #expect(home.hasPrefix("/") && home.hasSuffix("/relative/home"))
        configuration.environment["NIGHTSHIFT_HOME"] = ""
        #expect(configuration.absoluteEnvironment["NIGHTSHIFT_HOME"] == "")
    }
}
