import Daemon
import Foundation
import Logging
import NightshiftAPI
import TestSupport
import Testing

/// Tests of the configuration in the environment and in the file `nightshiftd.env`.
@Suite struct DaemonConfigurationTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func read(_ file: String?, environment: [String: String] = [:]) async throws -> DaemonConfiguration {
        if let file {
            try FileManager.default.createDirectory(
                atPath: directory.path("home/config"), withIntermediateDirectories: true)
            try directory.write(file, to: "home/config/nightshiftd.env")
        }
        let home = ["NIGHTSHIFT_HOME": directory.path("home")]
        return try await DaemonConfiguration.read(
            environment: home.merging(environment) { $1 }, homeDirectory: URL(filePath: directory.path))
    }

    @Test func `The service uses only the environment if the configuration file is missing`() async throws {
        let plain = try await read(nil)
        #expect(plain.logLevel == .info && plain.proxy == nil && plain.tls == nil && plain.deviceTrace == nil)
        let said = try await read(
            nil, environment: ["NIGHTSHIFT_LOG_LEVEL": "Debug", "NIGHTSHIFT_PROXY": "http://proxy.example:3128"])
        #expect(said.logLevel == .debug && said.proxy == "http://proxy.example:3128")
    }

    @Test func `The file sets variables, over which the environment takes precedence`() async throws {
        let file = """
            # Of the whole site.
            NIGHTSHIFT_PROXY=http://ada:a=b@proxy.example:3128

              NIGHTSHIFT_LOG_LEVEL=debug
            NIGHTSHIFT_CA_FILE=/etc/site ca.pem
            # NIGHTSHIFT_CLIENT_KEY=/etc/key.pem
            no line of this kind
            PROXY=http://another.example
            """
        let configuration = try await read(file, environment: ["NIGHTSHIFT_LOG_LEVEL": "error"])
        #expect(configuration.proxy == "http://ada:a=b@proxy.example:3128")
        #expect(configuration.logLevel == .error)
        #expect(configuration.tls == TLSSettings(certificateAuthority: "/etc/site ca.pem"))
        // Apps get the environment without the settings of the service.
        #expect(configuration.environment["NIGHTSHIFT_PROXY"] == nil)
    }

    @Test func `The last of two lines with the same key applies`() async throws {
        #expect(try await read("NIGHTSHIFT_LOG_LEVEL=trace\nNIGHTSHIFT_LOG_LEVEL=notice\n").logLevel == .notice)
    }

    @Test(arguments: ["NIGHTSHIFT_LOG_LEVEL=loud", "NIGHTSHIFT_LOG_LEVEL="])
    func `An invalid log level is an error`(line: String) async throws {
        let error = await #expect(throws: DaemonError.self) { try await read(line) }
        #expect(error?.exitStatus == 2)
        #expect(error?.description.contains("NIGHTSHIFT_LOG_LEVEL") == true)
    }

    @Test func `A configuration file that cannot be read is an error`() async throws {
        try FileManager.default.createDirectory(
            atPath: directory.path("home/config/nightshiftd.env"), withIntermediateDirectories: true)
        let error = await #expect(throws: DaemonError.self) { try await read(nil) }
        #expect(error?.exitStatus == 2)
        #expect(error?.description.contains("nightshiftd.env") == true)
    }
}
