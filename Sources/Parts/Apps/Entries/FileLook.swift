import Glibc

/// File accesses that show whether a file system responds. A pipe without a writer does not block them.
enum FileLook {
    static func open(_ path: String) { look(at: path) { _ in } }

    /// Opens the file and reads one byte.
    static func read(_ path: String) {
        look(at: path) { descriptor in
            var byte: UInt8 = 0
            pread(descriptor, &byte, 1, 0)
        }
    }

    private static func look(at path: String, _ body: (Int32) -> Void) {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { return }
        body(descriptor)
        close(descriptor)
    }
}
