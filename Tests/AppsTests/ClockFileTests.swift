import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

@testable import Apps

/// Tests of the file from which an app's process reads its background time.
@Suite struct ClockFileTests {
    /// A process that writes to a mapped page gets SIGBUS if the file system has no space for the page.
    @Test func `A clock file reserves its disk space before the service writes it, and keeps its contents`() throws {
        let scratch = try TemporaryDirectory()
        let folder = URL(filePath: scratch.path("clocks"), directoryHint: .isDirectory)
        let file = try ClockFile(folder: folder, name: "app")
        var information = stat()
        #expect(stat(file.path, &information) == 0)
        #expect(information.st_blocks > 0 && Int(information.st_size) == BackgroundClock.size)
        file.write(.standing(7))
        // The next run of the service uses the file again, and a process may still read it.
        let next = try ClockFile(folder: folder, name: "app")
        let data = try Data(contentsOf: URL(filePath: next.path))
        let word = data.withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
        #expect(BackgroundClock(word: word) == .standing(7))
    }
}
