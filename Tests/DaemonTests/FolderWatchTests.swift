import Daemon
import Foundation
import TestSupport
import Testing

/// Tests that removed folders are detected, even while files in them are open.
@Suite struct FolderWatchTests {
    enum End: CaseIterable {
        case removed, moved, removedAbove, movedAbove
    }

    @Test(arguments: End.allCases, [false, true])
    func `The watch detects a removed folder`(end: End, holdsFile: Bool) async throws {
        let directory = try TemporaryDirectory()
        let (above, folder) = (directory.path("home"), directory.path("home/state"))
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let file = open("\(folder)/file", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { if holdsFile { close(file) } }
        if !holdsFile { close(file) }
        let heard = Watched(false)
        let changes = FolderWatch.changes(of: [folder, above, directory.path])
        let listener = Task {
            for await _ in changes where !FileManager.default.fileExists(atPath: folder) { break }
            heard.update { $0 = true }
        }
        defer { listener.cancel() }
        switch end {
        case .removed: try FileManager.default.removeItem(atPath: folder)
        case .moved: try FileManager.default.moveItem(atPath: folder, toPath: directory.path("elsewhere"))
        case .removedAbove: try FileManager.default.removeItem(atPath: above)
        case .movedAbove: try FileManager.default.moveItem(atPath: above, toPath: directory.path("elsewhere"))
        }
        try await heard.wait(for: "word of it") { $0 }
    }
}
