import Foundation
import Logging
import NightshiftAPI
import TestSupport
import Testing

@testable import Daemon

/// What an operator can set, and where (mission row B1).
@Suite struct DaemonConfigurationTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: directory.path("config"), withIntermediateDirectories: false)
    }

    private func configuration(
        _ environment: [String: String] = [:], file: String? = nil
    ) throws -> DaemonConfiguration {
        if let file { try directory.write(file, to: "config/nightshiftd.env") }
        return try DaemonConfiguration(
            environment: ["NIGHTSHIFT_HOME": directory.path].merging(environment) { $1 },
            homeDirectory: URL(filePath: "/nonexistent"))
    }

    @Test func `B1: Without a word of an operator nothing is set`() throws {
        let configuration = try configuration()
        #expect(configuration.logLevel == .info)
        #expect(configuration.proxy == nil && configuration.tls == nil && configuration.deviceTrace == nil)
    }

    @Test func `B1: The environment wins over the file, key by key`() throws {
        let file = """
            # NIGHTSHIFT_PROXY=http://commented.example

              NIGHTSHIFT_PROXY=http://file.example:8080
            NIGHTSHIFT_LOG_LEVEL=debug
            a line that says nothing
            NIGHTSHIFT_CA_FILE=/etc/own.pem
            """
        let alone = try configuration(file: file)
        #expect(alone.proxy == "http://file.example:8080" && alone.logLevel == .debug)
        #expect(alone.tls == TLSSettings(certificateAuthority: "/etc/own.pem", clientCertificate: nil, clientKey: nil))
        let both = try configuration(["NIGHTSHIFT_PROXY": "http://environment.example"], file: file)
        #expect(both.proxy == "http://environment.example" && both.logLevel == .debug)
    }

    @Test func `B1: A client certificate alone is a TLS setting`() throws {
        let configuration = try configuration([
            "NIGHTSHIFT_CLIENT_CERTIFICATE": "/a.pem", "NIGHTSHIFT_CLIENT_KEY": "/a.key",
        ])
        #expect(
            configuration.tls
                == TLSSettings(certificateAuthority: nil, clientCertificate: "/a.pem", clientKey: "/a.key"))
    }

    @Test func `B1: A level that is none is refused with those that there are`() throws {
        let error = #expect(throws: DaemonError.self) { try configuration(["NIGHTSHIFT_LOG_LEVEL": "loud"]) }
        #expect(error?.exitStatus == 2)
        #expect(error?.description.contains("'loud'") == true && error?.description.contains("critical") == true)
        let written = try configuration(["NIGHTSHIFT_LOG_LEVEL": "Warning"])
        #expect(written.logLevel == .warning)
    }

    @Test func `B1: Apps are given a home that is the same in every directory`() throws {
        var configuration = try configuration()
        configuration.environment["NIGHTSHIFT_HOME"] = "relative/home"
        let home = try #require(configuration.absoluteEnvironment["NIGHTSHIFT_HOME"])
        #expect(home.hasPrefix("/") && home.hasSuffix("/relative/home"))
        configuration.environment["NIGHTSHIFT_HOME"] = ""
        #expect(configuration.absoluteEnvironment["NIGHTSHIFT_HOME"] == "")
    }
}
