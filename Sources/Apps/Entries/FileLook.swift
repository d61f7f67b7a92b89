import Glibc

/// Accesses files to find out whether their file system responds. A pipe without a writer does not block these calls.
enum FileLook {
    static func open(_ path: String) { look(at: path) { _ in } }

    /// Opens the file and reads a byte.
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
