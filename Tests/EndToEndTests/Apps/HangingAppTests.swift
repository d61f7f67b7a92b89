import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

/// Tests of apps whose files are on a file system that does not respond.
@Suite(
    .serialized, .timeLimit(.minutes(20)),
    .enabled(if: HangingFileSystem.isPossible, "needs root, FUSE, a compiler for C and libfuse3-dev"))
struct HangingAppTests {
    private static func install(_ name: String, exec: String, _ keys: String = "", on service: Service) async throws {
        let entry = try service.scratch.write(
            """
            [Desktop Entry]
            Type=Application
            Name=\(name)
            Exec=\(exec)
            X-Nightshift-BackgroundModes=fetch;
            \(keys)

            """, to: "org.example.\(name).desktop")
        try await service.api.post("/v1/apps", InstallRequest(entry: entry), as: AppStatus.self)
    }

    @Test(arguments: [[HangingFileSystem.Call.getattr], [.open], [.getattr, .open]])
    func `B1: An app on a hanging file system blocks neither other apps nor lists`(
        _ calls: [HangingFileSystem.Call]
    ) async throws {
        let (service, system) = (try Service(), try await HangingFileSystem())
        defer { ProcessSweep(home: service.home).sweep(first: service.process) }
        try await service.start()
        let program = system.path + "/program"
        try "#!/bin/sh\nexec sleep 1000\n".write(toFile: program, atomically: false, encoding: .utf8)
        #expect(chmod(program, 0o755) == 0)
        try "no picture".write(toFile: system.path + "/picture.png", atomically: false, encoding: .utf8)
        try await Self.install("Program", exec: program, "TryExec=\(program)", on: service)
        try await Self.install("Folder", exec: "sleep 1000", "Path=\(system.path)", on: service)
        try await Self.install(
            "Picture", exec: "sleep 1000", "X-Nightshift-Snapshot=\(system.path)/picture.png", on: service)
        try await Self.install("Healthy", exec: "sleep 1000", on: service)

        for call in calls { try system.hang(call) }
        // The calls hang until the end of this loop. A response must therefore not wait for them.
        let list = try await service.cli(["app", "list"])
        #expect(list.code == 0, "\(list)")
        for name in ["Folder", "Healthy", "Picture", "Program"] {
            #expect(list.output.contains("org.example.\(name)"), "\(list.output)")
        }
        for name in ["Healthy", "Picture"] {
            let opened = try await service.cli(["app", "launch", "org.example.\(name)"])
            #expect(opened.code == 0, "\(name): \(opened)")
        }
        // Opening a folder uses another call than opening a file.
        for name in calls == [.open] ? ["Program"] : ["Program", "Folder"] {
            let opened = try await service.cli(["app", "launch", "org.example.\(name)"])
            #expect(opened.code == 1 && opened.errors.contains("does not respond"), "\(name): \(opened)")
        }
        let picture = try await service.cli(["app", "snapshot", "org.example.Picture", "-o", "picture.png"])
        #expect(picture.code == 3 && picture.errors.contains("does not respond"), "\(picture)")

        // Neither stopping the service nor its next start waits for these calls.
        let process = try #require(service.process)
        process.kill(SIGTERM)
        try await HangingFileSystem.waitForLastInstruction(of: process)
        try await service.start()
        #expect(try await service.cli(["app", "list"]).output.contains("org.example.Program"))

        for call in calls { system.answer(call) }
        try await eventually("a start of the app") {
            try await service.cli(["app", "launch", "org.example.Program"]).code == 0
        }
    }
}
