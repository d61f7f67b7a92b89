import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

@Suite struct KernelFileTests {
    @Test func `The reader reads a kernel file longer than a page to its end`() throws {
        // These mappings make the kernel's table longer than a page: each has a line. Tables of mounts and file locks
        // can be as long.
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        var mappings: [UnsafeMutableRawPointer] = []
        defer { for mapping in mappings { munmap(mapping, page) } }
        for number in 0..<200 {
            // Adjacent mappings with different protection have separate lines.
            let protection = number % 2 == 0 ? PROT_READ : PROT_READ | PROT_WRITE
            let mapping = try #require(mmap(nil, page, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
            try #require(mapping != MAP_FAILED)
            mappings.append(mapping)
        }
        let text = try #require(KernelFile.text("/proc/self/maps"))
        #expect(text.utf8.count > 2 * page)
        // The last line of the table is about the stack, which is above all other mappings.
        #expect(text.contains("[stack]"))
        #expect(text.hasSuffix("\n"))
    }

    @Test func `Reading a kernel file that does not exist returns nil`() {
        #expect(KernelFile.text("/proc/0/stat") == nil)
        #expect(KernelFile.text("/proc") == nil)
    }
}
