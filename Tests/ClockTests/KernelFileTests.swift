import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

@Suite struct KernelFileTests {
    @Test func `A table of the kernel that is longer than a page is read to its end`() throws {
        // As many as make the table of this process's descriptors' locks, mounts or maps long enough: one line for each mapping.
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        var mappings: [UnsafeMutableRawPointer] = []
        defer { for mapping in mappings { munmap(mapping, page) } }
        for number in 0..<200 {
            // Neighbours of different protection are lines of their own.
            let protection = number % 2 == 0 ? PROT_READ : PROT_READ | PROT_WRITE
            let mapping = try #require(mmap(nil, page, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
            try #require(mapping != MAP_FAILED)
            mappings.append(mapping)
        }
        let text = try #require(KernelFile.text("/proc/self/maps"))
        #expect(text.utf8.count > 2 * page)
        // The stack lies above whatever else there is.
        #expect(text.contains("[stack]"))
        #expect(text.hasSuffix("\n"))
    }

    @Test func `A file of the kernel that is missing is no text`() {
        #expect(KernelFile.text("/proc/0/stat") == nil)
        #expect(KernelFile.text("/proc") == nil)
    }
}
