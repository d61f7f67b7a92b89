import Foundation
import NightshiftAPI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The output of a ``ClientProgram``: its address.
package enum AddressOutput {
    /// Writes the address to standard output, as JSON on one line, and closes standard output.
    package static func write(_ address: some Encodable) throws {
        try FileHandle.standardOutput.write(contentsOf: try JSON.encode(address) + Data("\n".utf8))
        // The reader of the address sees the end of the output.
        let nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard nowhere >= 0 else { return }
        dup2(nowhere, STDOUT_FILENO)
        close(nowhere)
    }
}
