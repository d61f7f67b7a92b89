import CDispatch  // If this module is also loaded, the compiler takes stat(2) from it.
import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

/// Tests of downloads to file systems that lack a feature: renaming without replacing, hard links, stable inodes or
/// modes.
@Suite(
    .serialized, .enabled(if: Machine.canMount, "needs root to mount file systems of its own"),
    .timeLimit(.minutes(20)))
struct OddFileSystemTests {
    @Test(
        "T4: The service downloads a file to an unusual file system once and gives it its name",
        arguments: OddFileSystem.allCases)
    func download(to kind: OddFileSystem) async throws {
        guard kind.isPossible else {
            print("OddFileSystemTests: this machine has no \(kind.rawValue); see scripts/packages.sh")
            return
        }
        let (service, origin) = (try Service(), try OriginServer())
        let mount = try await Mount.odd(kind)
        let folder = mount.path + "/to"
        try await service.start()
        let content = Content.seeded(size: 3 << 20, seed: 1)
        origin.serve("/f", Resource(content: content))
        // The second download finds the name taken.
        for name in ["file", "file (1)"] {
            let id = try await service.api.enqueue(.download(origin.url("/f"), to: folder))
            let task = try await service.waitForEnd(id)
            #expect(task.state == .completed, "\(task)")
            #expect(task.file == "\(folder)/\(name)")
            #expect(task.restarts == 0)
        }
        var request = TaskRequest.download(origin.url("/f"), to: folder)
        request.destination?.overwrite = true
        #expect(try await service.waitForEnd(service.api.enqueue(request)).file == "\(folder)/file")
        for name in ["file", "file (1)"] {
            #expect(try content.firstMismatch(inFileAt: "\(folder)/\(name)") == nil)
        }
        #expect(origin.totals(for: "/f").requests == 3, "each was fetched once")
        // The folder contains neither partial files nor the files in which FUSE keeps deleted open files.
        #expect(service.names(in: folder) == ["file", "file (1)"])
        try await service.stop()
    }

    @Test(
        "T4: A download waits while its folder is not mounted, and then continues",
        .enabled(if: Machine.hasLoopDevices, "needs root, mkfs.ext4 and a free loop device"))
    func unmounted() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        let mount = try await Mount.ext4(megabytes: 48)
        try await service.start()
        origin.serve("/f", .text("content"))
        var request = TaskRequest.download(origin.url("/f"), to: mount.path, named: "f")
        request.suspended = true
        let id = try await service.api.enqueue(request)
        try await mount.unmount()
        #expect(try await service.cli(["resume", "\(id)"]).code == 0)
        try await service.wait(id, for: "a wait for the folder") { $0.lastError?.code == .destinationUnavailable }
        #expect(try await service.cli(["why", "\(id)"]).output.contains("not mounted"))
        #expect(service.names(in: mount.path).isEmpty, "nothing comes into the empty folder below")
        #expect(origin.totals(for: "/f").requests == 0)
        try await mount.mount()
        let task = try await service.waitForEnd(id)
        #expect(task.state == .completed && task.file == mount.path + "/f", "\(task)")
        try await service.stop()
    }
}
