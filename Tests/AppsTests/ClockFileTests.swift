import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

@testable import Apps

/// The file from which the process of an app reads its background time.
@Suite struct ClockFileTests {
    /// Whoever stores into a page for which the file system has no room is ended by the kernel (SIGBUS).
    @Test func `The file has its room before anything is stored in it, and keeps what is`() throws {
        let scratch = try TemporaryDirectory()
        let folder = URL(filePath: scratch.path("clocks"), directoryHint: .isDirectory)
        let file = try ClockFile(folder: folder, name: "app")
        var information = stat()
        #expect(stat(file.path, &information) == 0)
        #expect(information.st_blocks > 0 && Int(information.st_size) == BackgroundClock.size)
        file.write(.standing(7))
        // The next service uses it again, and a process may still read it.
        let next = try ClockFile(folder: folder, name: "app")
        let data = try Data(contentsOf: URL(filePath: next.path))
        let word = data.withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
        #expect(BackgroundClock(word: word) == .standing(7))
    }
}
