import Foundation
import NightshiftAPI
import NightshiftClient
import TestSupport
import Testing

@testable import CLI

struct ArgumentBytesTests {
    private func bytes(_ text: String, _ more: [UInt8] = [], _ rest: String = "") -> [UInt8] {
        Array(text.utf8) + more + Array(rest.utf8)
    }

    @Test func `T8: A URL keeps its bytes on the command line`() throws {
        let arguments = ArgumentBytes([
            bytes("get"), bytes("http://a.example/caf", [0xE9], ".iso"),
            bytes("--mirror=HTTPS://b.example/", [0xFF, 0x80]),
            bytes("http://a.example/é"),
        ])
        #expect(arguments.mistake == nil)
        #expect(
            arguments.words == [
                "get", "http://a.example/caf%E9.iso", "--mirror=HTTPS://b.example/%FF%80", "http://a.example/é",
            ])
        #expect(try TransferURL(parsing: arguments.words[1]).path == "/caf%E9.iso")
    }

    @Test func `T8: The error about a file name that is not UTF-8 shows the bytes of the name`() throws {
        let arguments = ArgumentBytes([bytes("get"), bytes("-d"), bytes("/srv/caf", [0xE9]), bytes("x", [0xFF])])
        let mistake = try #require(arguments.mistake)
        #expect(mistake.hasPrefix("Argument 3 ('/srv/caf\\xe9') is not valid UTF-8."))
    }

    @Test(arguments: [["--user"], ["-H"]])
    func `T8: The error about a secret that is not UTF-8 does not repeat the secret`(
        _ option: [String]
    ) throws {
        let arguments = ArgumentBytes(option.map { bytes($0) } + [bytes("ada:secret", [0xE9])])
        let joined = ArgumentBytes([bytes("--user=ada:secret", [0xE9])])
        let short = ArgumentBytes([bytes("-HX-Key: secret", [0xE9])])
        for mistake in [arguments.mistake, joined.mistake, short.mistake] {
            #expect(try !#require(mistake).contains("secret"))
        }
    }

    @Test func `T8: A command with an argument that is not UTF-8 has exit code 2 and sends no request`() async throws {
        let world = try World()
        var invocation = world.invocation(["get", "-d", "caf\u{FFFD}", "http://a.example/1", "--json"])
        invocation.mistake = "Argument 3 is not valid UTF-8."
        #expect(await CommandLineProgram.run(invocation) == .usage)
        #expect(world.errors.text.contains("Argument 3 is not valid UTF-8.") && world.errors.text.hasPrefix("{"))
    }

    @Test func `T8: The parser refuses a URL whose user name or password is not UTF-8`() throws {
        let failure = #expect(throws: TransferFailure.self) { try TransferURL(parsing: "http://ada:p%E9@a.example/") }
        #expect(failure?.code == .badURL)
    }

    @Test func `T8: A program gets variables that are not UTF-8 unchanged`() throws {
        setenv("NIGHTSHIFT_TEST_BYTES", [CChar(bitPattern: 0xE9), 0], 1)
        defer { unsetenv("NIGHTSHIFT_TEST_BYTES") }
        let text = try #require(ProcessInfo.processInfo.environment["NIGHTSHIFT_TEST_BYTES"])
        let entry = try #require(OwnEnvironment.entry("NIGHTSHIFT_TEST_BYTES", text))
        defer { free(entry) }
        #expect(ArgumentBytes.bytes(entry) == bytes("NIGHTSHIFT_TEST_BYTES=", [0xE9]))
        let other = try #require(OwnEnvironment.entry("NIGHTSHIFT_TEST_BYTES", "new"))
        defer { free(other) }
        #expect(ArgumentBytes.bytes(other) == bytes("NIGHTSHIFT_TEST_BYTES=new"))
    }
}
