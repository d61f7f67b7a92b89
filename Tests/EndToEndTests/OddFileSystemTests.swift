import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

/// Downloads to file systems that lack something: renaming without replacing, second names, lasting inodes, modes.
@Suite(
    .serialized, .enabled(if: Machine.canMount, "needs root to mount file systems of its own"),
    .timeLimit(.minutes(20)))
struct OddFileSystemTests {
    @Test("B2: a download to an odd file system is fetched once and gets its name", arguments: OddFileSystem.allCases)
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
        // The second one finds the name taken.
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
        // Neither partial files nor what FUSE hides of open ones.
        #expect(service.names(in: folder) == ["file", "file (1)"])
        try await service.stop()
    }
}
