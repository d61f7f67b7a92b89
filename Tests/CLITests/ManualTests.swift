import ArgumentParser
import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import CLI

/// Manual pages that are generated from the help.
struct ManualTests {
    private static let linter = ["/usr/bin/mandoc", "/bin/mandoc"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    private func page() async throws -> String {
        let world = try World()
        #expect(await world.run("manual", environment: ["SOURCE_DATE_EPOCH": "1795262400"]) == .whole)
        return world.output.text
    }

    @Test func `The manual page contains every command and every option of the help`() async throws {
        let page = try await page()
        #expect(page.hasPrefix(".Dd November 21, 2026\n.Dt NIGHTSHIFT 1\n.Os Nightshift "))
        for command in HelpTests.commands {
            let name = try #require(command.configuration.commandName)
            #expect(page.contains(" \(name.replacing("-", with: "\\-"))\n"), "\(name)")
        }
        #expect(page.contains(".It Fl o , Fl \\-output Ar file\n"))
        #expect(page.contains("\nnightshift get https://example.org/big.iso\n"))
        #expect(!page.contains("nightshift complete"))
    }

    @Test func `The generator writes the same manual page twice`() async throws {
        #expect(try await page() == page())
    }

    @Test(.enabled(if: linter != nil, "mandoc is not installed here"))
    func `mandoc reports no errors in the manual page`() async throws {
        let world = try World()
        let file = world.path + "/nightshift.1"
        try Data(try await page().utf8).write(to: URL(filePath: file))
        let verdict = try await ChildProcess.run("mandoc", ["-T", "lint", "-W", "warning", file])
        #expect(verdict.code == 0, "\(verdict)")
    }

    @Test func `The generator refuses input that is not the help of a program`() async throws {
        let world = try World()
        #expect(await world.run("manual", "x") == .usage)
    }
}
