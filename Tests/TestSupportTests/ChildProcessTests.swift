import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ChildProcessTests {
    @Test func `A child process gets its environment and input, and returns its outcome`() async throws {
        let outcome = try await ChildProcess.run(
            "sh", ["-c", "cat; echo error >&2; echo $WORD; pwd; exit 3"],
            environment: ["WORD": "night", "PATH": "/usr/bin:/bin"], directory: "/usr", input: "in\n")
        #expect(outcome.code == 3)
        #expect(outcome.output == "in\nnight\n/usr\n")
        #expect(outcome.errors == "error\n")
    }

    @Test func `An end by a signal differs from an exit code`() async throws {
        let process = try ChildProcess("sleep", arguments: ["60"])
        #expect(process.exit == nil)
        process.kill(SIGKILL)
        #expect(try await process.waitForExit() == .signal(SIGKILL))
    }

    @Test func `A child process that is stopped ends by SIGTERM`() throws {
        let polite = try ChildProcess("sleep", arguments: ["60"])
        polite.stop()
        #expect(polite.exit == .signal(SIGTERM))
    }

    @Test func `A child process with its own process group has the process ID that it reads itself`() async throws {
        let directory = try TemporaryDirectory()
        let process = try ChildProcess(
            "sh", arguments: ["-c", "echo $$"], output: .file(directory.path("pid")), ownGroup: true)
        #expect(try await process.waitForExit() == .code(0))
        #expect(String(decoding: try fileBytes(directory.path("pid")), as: UTF8.self) == "\(process.pid)\n")
    }

    @Test func `Starting a program that does not exist fails`() async throws {
        #expect(throws: SystemError.self) { try ChildProcess("/nothing/here", diesWithParent: false) }
        #expect(try await ChildProcess.run("/nothing/here").code != 0)
    }

    @Test func `A run that exceeds its time limit throws an error`() async throws {
        await #expect(throws: WaitedTooLong.self) {
            try await ChildProcess.run("sleep", ["60"], within: .milliseconds(50))
        }
    }

    /// A regression test: Foundation opens files without `O_CLOEXEC`. If another test's child process inherited the
    /// descriptor of a program that was being written, the program could not be executed while that process lived
    /// (`ETXTBSY`).
    @Test func `A child process inherits no file descriptors`() async throws {
        let directory = try TemporaryDirectory()
        let program = try directory.write("#!/bin/sh\nexit 3\n", to: "program")
        #expect(chmod(program, 0o700) == 0)
        let writer = open(program, O_WRONLY)
        let longLived = try ChildProcess("sleep", arguments: ["60"])
        close(writer)
        // The process changes its name when it executes its own program.
        try await eventually("sleep") {
            (try? fileBytes("/proc/\(longLived.pid)/comm")).map { String(decoding: $0, as: UTF8.self) } == "sleep\n"
        }
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(longLived.pid)/fd")
        #expect(Set(descriptors) == ["0", "1", "2"])
        #expect(try await ChildProcess.run(program).code == 3)
    }

    @Test func `A child process ends when its parent is killed`() async throws {
        let directory = try TemporaryDirectory()
        // The shell represents a test process: it starts `setpriv` as `ChildProcess` does, and is then killed.
        let parent = try ChildProcess(
            "sh",
            arguments: ["-c", "setpriv --pdeathsig TERM -- sleep 60 & echo $! > \(directory.path("pid")); wait"])
        try await eventually("the child's id") { (try? fileBytes(directory.path("pid")))?.isEmpty == false }
        let text = String(decoding: try fileBytes(directory.path("pid")), as: UTF8.self)
        let child = try #require(Int32(text.filter(\.isNumber)))
        // The ID is known before `setpriv` has requested the signal. The process changes its name after the request.
        try await eventually("sleep") {
            (try? fileBytes("/proc/\(child)/comm")).map { String(decoding: $0, as: UTF8.self) } == "sleep\n"
        }
        parent.kill(SIGKILL)
        try await eventually("the child's end") {
            let state = (try? fileBytes("/proc/\(child)/stat")).map { String(decoding: $0, as: UTF8.self) }
            return state == nil || state?.contains(") Z ") == true
        }
    }

    @Test func `A temporary directory is deleted when its object is deallocated`() throws {
        var directory: TemporaryDirectory? = try TemporaryDirectory()
        let path = try #require(try directory?.write("x", to: "file"))
        #expect(access(path, F_OK) == 0)
        directory = nil
        #expect(access(path, F_OK) != 0)
    }
}
