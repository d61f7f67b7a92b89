import Apps
import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

extension ProcessTests {
    /// Tests of locks held by processes that are about to be suspended (mission row L5; Apple's 0xdead10cc).
    @Suite struct FileLockTests {
        /// A program that locks a file, prints a line and waits. The kinds of locks are flock(2), and F_SETLK and
        /// F_OFD_SETLK of fcntl(2).
        private static let program = """
            import fcntl, struct, sys, time
            kind, path = sys.argv[1], sys.argv[2]
            file = open(path, 'a+')
            lock = struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 0, 0)
            if kind == 'flock': fcntl.flock(file, fcntl.LOCK_EX)
            if kind == 'POSIX': fcntl.fcntl(file, fcntl.F_SETLK, lock)
            if kind == 'OFD': fcntl.fcntl(file, 37, lock)
            print('ready', flush=True)
            time.sleep(600)
            """

        private func launch(_ scene: Scene, _ kind: String, _ path: String, behindShell: Bool = false) async throws
            -> ProcessIdentity
        {
            let script = scene.scratch.path("lock.py")
            try Self.program.write(toFile: script, atomically: true, encoding: .utf8)
            let command = "/usr/bin/python3 '\(script)' \(kind) '\(path)'"
            let process = try scene.launchShell(behindShell ? "\(command); true" : "exec \(command)")
            try await eventually("the lock") {
                try String(contentsOfFile: scene.plan("sh").log, encoding: .utf8).hasSuffix("ready\n")
            }
            return process
        }

        @Test(arguments: ["flock", "POSIX", "OFD"], SystemProcessHost.Suspension.allCases)
        func `L5: The search finds a lock on a file that another process has open`(
            kind: String, suspension: SystemProcessHost.Suspension
        ) async throws {
            let scene = try Scene(suspension)
            defer { scene.end() }
            let path = scene.scratch.path("shared")
            let process = try await launch(scene, kind, path)
            #expect(scene.host.locks(process) == [], "nobody else has it")
            let other = open(path, O_RDONLY | O_CLOEXEC)
            #expect(scene.host.locks(process) == [HeldLock(path: path, process: process.pid, kind: kind)])
            close(other)
            // A process started by another test has a copy of the descriptor until it executes its program.
            try await eventually("no other process has the file open") { scene.host.locks(process) == [] }
        }

        @Test func `L5: Locks of processes that an app has started count as the app's locks`() async throws {
            let scene = try Scene()
            defer { scene.end() }
            let path = scene.scratch.path("shared")
            let process = try await launch(scene, "flock", path, behindShell: true)
            let other = open(path, O_RDONLY | O_CLOEXEC)
            defer { close(other) }
            let locks = scene.host.locks(process)
            #expect(locks.map(\.path) == [path])
            #expect(locks.first?.process != process.pid)
        }

        @Test func `L5: The search ignores an open file without a lock`() async throws {
            let scene = try Scene()
            defer { scene.end() }
            let path = scene.scratch.path("shared")
            let process = try await launch(scene, "none", path)
            // Some lock must exist on this machine for this test.
            let other = open(path, O_RDWR | O_CLOEXEC)
            defer { close(other) }
            #expect(flock(other, LOCK_EX) == 0)
            #expect(scene.host.locks(process) == [])
        }

        @Test func `L5: The search ignores a database that is merely open in WAL mode`() async throws {
            let scene = try Scene()
            defer { scene.end() }
            let path = scene.scratch.path("shared.sqlite")
            let script = scene.scratch.path("database.py")
            try """
            import sqlite3, sys, time, os
            base = sqlite3.connect(sys.argv[1], isolation_level=None)
            base.execute('PRAGMA journal_mode = WAL')
            base.execute('CREATE TABLE IF NOT EXISTS t (x)')
            base.execute('SELECT count(*) FROM t').fetchall()
            print('open', flush=True)
            while not os.path.exists(sys.argv[1] + '.go'): time.sleep(0.01)
            base.execute('BEGIN IMMEDIATE')
            base.execute('INSERT INTO t VALUES (1)')
            print('ready', flush=True)
            time.sleep(600)
            """.write(toFile: script, atomically: true, encoding: .utf8)
            let process = try scene.launchShell("exec /usr/bin/python3 '\(script)' '\(path)'")
            let log = scene.plan("sh").log
            try await eventually("the database") { try String(contentsOfFile: log, encoding: .utf8) == "open\n" }
            // This opens the files as another process that uses the database would.
            let others = ["", "-wal", "-shm"].map { open(path + $0, O_RDONLY | O_CLOEXEC) }
            defer { for other in others { close(other) } }
            #expect(scene.host.locks(process) == [])
            try "".write(toFile: path + ".go", atomically: true, encoding: .utf8)
            try await eventually("the transaction") {
                try String(contentsOfFile: log, encoding: .utf8).hasSuffix("ready\n")
            }
            #expect(scene.host.locks(process).contains { $0.path == path + "-shm" && $0.kind == "POSIX" })
        }
    }
}
