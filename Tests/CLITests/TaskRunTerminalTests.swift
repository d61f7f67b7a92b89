import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import CLI

/// Tests that a program that is run as background work has the terminal and receives the user's keys (mission row L2).
/// script(1) creates the terminal.
struct TaskRunTerminalTests {
    /// A terminal that runs `line` in its foreground.
    private final class Terminal: Sendable {
        let process: ChildProcess
        private let keyboard: FileHandle
        private let screen: String

        init(_ world: World, _ line: String) throws {
            let keys = Pipe()
            // The child uses the read end by its number, so it must stay open.
            defer { withExtendedLifetime(keys) {} }
            keyboard = keys.fileHandleForWriting
            screen = world.path + "/screen"
            process = try ChildProcess(
                "script", arguments: ["-q", "-e", "-c", line, "/dev/null"],
                environment: [
                    "NIGHTSHIFT_HOME": world.path, "HOME": world.path, "PATH": "/usr/bin:/bin", "SHELL": "/bin/bash",
                    "TERM": "dumb",
                ],
                output: .file(screen), errors: .file(screen), input: keys.fileHandleForReading.fileDescriptor,
                directory: world.path)
        }

        func type(_ byte: UInt8) throws { try keyboard.write(contentsOf: [byte]) }

        func shows(_ text: String) async throws {
            try await eventually("'\(text)' on the screen") { self.text.contains(text) }
        }

        var text: String {
            String(decoding: FileManager.default.contents(atPath: screen) ?? Data(), as: UTF8.self)
        }
    }

    private func granting(_ world: World) throws -> ScriptedService {
        let hello = try JSON.encode(
            ProcessHello(
                app: AppID(rawValue: "/bin/sh#1"), isInstalled: false, isManaged: true, state: .background))
        return try world.service { request in
            request.path.hasPrefix("/v1/process/commands")
                ? .events(["event: hello\ndata: \(String(decoding: hello, as: UTF8.self))\n\n"], staysOpen: true)
                : .json(200, Data())
        }
    }

    @Test func `L2: The program gets ^C from the terminal, which the shell gets back afterwards`() async throws {
        let world = try World()
        let service = try granting(world)
        defer { service.stop() }
        let script = "trap \"exit 6\" INT; echo ready; while :; do sleep 0.05; done"
        let terminal = try Terminal(
            world,
            "bash -mc '\(Programs.commandLine) task run -- sh -c '\\''\(script)'\\''; echo status $?; read x; echo $x'")
        try await terminal.shows("ready")
        try terminal.type(3)
        try await terminal.shows("status 6")
        // A shell in the background would be stopped when it reads.
        for byte in Array("back\n".utf8) { try terminal.type(byte) }
        try await terminal.shows("back")
        #expect(try await terminal.process.waitForExit() == .code(0))
    }

    @Test func `L2: ^Z stops the command for the shell, and fg continues the program`() async throws {
        let world = try World()
        let service = try granting(world)
        defer { service.stop() }
        // bash creates children with fork. dash uses vfork: a ^Z before the exec stops the child, while the shell waits
        // for the exec in the kernel, and no parent shell learns of the ^Z.
        let script = "trap \"echo continued\" CONT; echo ready; while [ ! -e gate ]; do sleep 0.05; done; exit 6"
        let terminal = try Terminal(
            world,
            "bash -mc '\(Programs.commandLine) task run -- bash -c '\\''\(script)'\\''; echo stopped $?; fg; echo status $?'"
        )
        try await terminal.shows("ready")
        try terminal.type(26)
        try await terminal.shows("stopped 147")
        try await terminal.shows("continued")
        try Data().write(to: world.root.appending(path: "gate"))
        try await terminal.shows("status 6")
        #expect(try await terminal.process.waitForExit() == .code(0))
    }
}
