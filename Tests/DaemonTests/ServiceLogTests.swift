import Foundation
import Glibc
import Logging
import Synchronization
import Testing

@testable import ServiceLog

struct ServiceLogTests {
    @Test func `An entry for the journal has a priority, no time, and sorted metadata`() {
        let text = Mutex("")
        var handler = JournalLogHandler { line in text.withLock { $0 += line } }
        handler[metadataKey: "task"] = "7"
        let logger = Logger(label: "test", factory: { _ in handler })
        logger.warning("The host is paused.", metadata: ["host": "example.org"])
        logger.error("One line.\nAnother line.")
        #expect(
            text.withLock { $0 } == """
                <4>The host is paused. host=example.org task=7
                <3>One line.
                <3>Another line. task=7

                """)
    }

    @Test(arguments: [
        (Logger.Level.trace, 7), (.debug, 7), (.info, 6), (.notice, 5), (.warning, 4), (.error, 3), (.critical, 2),
    ])
    func `Levels have the priorities of syslog`(_ level: Logger.Level, _ priority: Int) {
        #expect(JournalLogHandler.lines("text", level) == "<\(priority)>text\n")
    }

    @Test func `Standard error is the journal if JOURNAL_STREAM names its device and inode`() throws {
        let descriptor = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(descriptor) }
        var file = stat()
        try #require(fstat(descriptor, &file) == 0)
        #expect(ServiceLog.isStream("\(file.st_dev):\(file.st_ino)", descriptor))
        #expect(!ServiceLog.isStream("\(file.st_dev):1\(file.st_ino)", descriptor))
        #expect(!ServiceLog.isStream(nil, descriptor))
    }
}
